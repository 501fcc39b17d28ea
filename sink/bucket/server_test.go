package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/internal/buckets"
)

// onServers runs a test on a server of each service that there is one of.
func onServers(t *testing.T, test func(t *testing.T, kind, endpoint string)) {
	for _, kind := range buckets.Kinds {
		t.Run(kind, func(t *testing.T) { test(t, kind, buckets.Start(t, kind)) })
	}
}

// twoParts is more than one request takes.
var twoParts = strings.Repeat("sixteen bytes...", (2*partLeast+1000)/16)

// K4: what takes several requests is whole, and is created on condition as well.
func TestPutLarge(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		res := save(t, s, 1, "id", "a", twoParts)
		if err := errors.Join(s.Put(t.Context(), res), s.Put(t.Context(), res)); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), save(t, s, 2, "other", "a", twoParts+"more")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Put of another document = %v", err)
		}
		if got, err := b.ReadAll(t.Context(), "a"); string(got) != twoParts || err != nil {
			t.Errorf("the object has %d bytes, %v", len(got), err)
		}
	})
}

// A large upload that is cancelled when a part has arrived leaves nothing to be seen.
func TestPutLargeCancelled(t *testing.T) {
	onServers(t, func(t *testing.T, kind, server string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		arrived := false
		endpoint := buckets.Proxy(t, kind, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			q := r.URL.Query()
			part := q.Has("partNumber") || q.Get("comp") == "block" || q.Has("upload_id") || r.Method == http.MethodPut && q.Get("uploadType") == "resumable"
			next.ServeHTTP(w, r)
			if part {
				arrived = true
				cancel()
			}
		})
		s, err := opens(t, kind, endpoint, "results")(t, "job in ledger")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(ctx, save(t, s, 1, "id", "a", twoParts)); !errors.Is(err, context.Canceled) || !arrived {
			t.Errorf("Put = %v, a part arrived: %v", err, arrived)
		}
		if there, err := buckets.Open(t, kind, server).Exists(t.Context(), "p/a"); there || err != nil {
			t.Errorf("there is an object: %v", err)
		}
	})
}

// A service that does not look at conditions is refused, and nothing is left there. Conditions
// are signed, so what they are about is taken away instead.
func TestNoConditions(t *testing.T) {
	onServers(t, func(t *testing.T, kind, server string) {
		direct := buckets.Open(t, kind, server)
		endpoint := buckets.Proxy(t, kind, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get("If-None-Match") != "" || r.URL.Query().Has("ifGenerationMatch") {
				_ = direct.Delete(t.Context(), "p/"+markName) // there may be none
			}
			next.ServeHTTP(w, r)
		})
		_, err := opens(t, kind, endpoint, "results")(t, "job in ledger")
		if err == nil || !strings.Contains(err.Error(), "replaces what is there") {
			t.Errorf("Open = %v", err)
		}
		if there, err := direct.Exists(t.Context(), "p/"+markName); there || err != nil {
			t.Errorf("the mark is left: %v", err)
		}
	})
}

// What a service refuses is told with the next step, and nothing that is secret.
func TestErrors(t *testing.T) {
	onServers(t, func(t *testing.T, kind, server string) {
		_, err := opens(t, kind, server, "missing")(t, "job in ledger")
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Why, "look at the name of the bucket") {
			t.Errorf("a bucket that is missing: %v", err)
		}
		for _, c := range []struct {
			status     int
			code, says string
		}{{403, "AccessDenied", "may do"}, {403, "AuthorizationPermissionMismatch", "may do"}, {400, "InvalidArgument", "400"}} {
			endpoint := buckets.Proxy(t, kind, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				w.Header().Set("X-Ms-Error-Code", c.code)
				w.WriteHeader(c.status)
				if kind == "gcs" {
					_, _ = io.WriteString(w, `{"error":{"code":`+strconv.Itoa(c.status)+`,"message":"`+buckets.Secret+`"}}`)
				} else {
					_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+c.code+`</Code><Message>`+buckets.Secret+`</Message></Error>`)
				}
			})
			_, err := opens(t, kind, endpoint, "results")(t, "job in ledger")
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d %s: %v", c.status, c.code, err)
			}
			for _, secret := range buckets.Secrets {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%d %s: it holds a secret: %v", c.status, c.code, err)
				}
			}
		}
	})
}

// The list of results is replaced.
func TestWriteList(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		for _, path := range []string{"first", "second"} {
			err := s.WriteList(t.Context(), func(yield func(dogear.Result, error) bool) { yield(dogear.Result{ID: "id", Path: path}, nil) })
			if err != nil {
				t.Fatal(err)
			}
			if got, err := b.ReadAll(t.Context(), listName); err != nil || bytes.Count(got, []byte("\n")) != 1 || !bytes.Contains(got, []byte(path)) {
				t.Errorf("the list is %s, %v", got, err)
			}
		}
	})
}
