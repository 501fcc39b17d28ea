package scenario

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

func start(t *testing.T, text string, o Options) *Stand {
	t.Helper()
	s, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// TestStartBeginsTheJournal: its first line says what the service is.
func TestStartBeginsTheJournal(t *testing.T) {
	var b bytes.Buffer
	st := start(t, whole, Options{Journal: &b})
	var head journal.Head
	line, _, _ := strings.Cut(b.String(), "\n")
	if err := json.Unmarshal([]byte(line), &head); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	want := journal.Head{
		Drill: 1, Scenario: "test", About: "All of it.", StartedAt: head.StartedAt, Documents: 60, Workers: 16, Expect: []string{"late == 0", "burst <= 1"},
		Quotas: []journal.Quota{
			{Name: "first", Origin: st.Base(), First: 1, Last: 10, Limit: &journal.Limit{Kind: "bucket", Requests: 20, Per: 10, Burst: 5}},
			{Name: "rest", Origin: originOf(st.List()[59].URL), First: 11, Last: 60, Limit: &journal.Limit{Kind: "concurrency", Requests: 4}},
		},
	}
	if !reflect.DeepEqual(head, want) {
		t.Errorf("got  %+v\nwant %+v", head, want)
	}
	if time.Since(head.StartedAt) > time.Minute || st.Head.Scenario != "test" {
		t.Errorf("it started at %v as %+v", head.StartedAt, st.Head)
	}
	if st.Base() == want.Quotas[1].Origin {
		t.Errorf("both quotas are at %s", st.Base())
	}
}

func TestHeadFirst(t *testing.T) {
	var b bytes.Buffer
	j := journal.New(&headFirst{out: &b})
	a := &journal.Arrival{At: time.Now(), Path: "/early"}
	j.Add(a)
	j.Finish(a)
	j.Begin(journal.Head{Scenario: "x"})
	late := &journal.Arrival{At: time.Now(), Path: "/late"}
	j.Add(late)
	j.Finish(late)
	rec, err := journal.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{rec.Head.Scenario, rec.Arrivals[0].Path, rec.Arrivals[1].Path}; !slices.Equal(got, []string{"x", "/early", "/late"}) {
		t.Errorf("got %v", got)
	}
}

// TestListIsTheManifest: what is said about documents is what the service says and serves.
func TestListIsTheManifest(t *testing.T) {
	for _, c := range []struct{ size, validators string }{{"", ""}, {"", "validators: modified\n"}, {"size: 100\n", "validators: both\n"}, {"", "validators: none\n"}} {
		st := start(t, "about: x\ndigests: true\ndocuments: 4\n"+c.size+c.validators, Options{})
		rows, err := csv.NewReader(strings.NewReader(get(t, st.Base()+"/manifest.csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range st.List() {
			if got, want := rows[i+1], []string{d.URL, d.ID, d.Version, fmt.Sprint(d.Size), d.SHA256}; !slices.Equal(got, want) {
				t.Errorf("%+v: got %q, want %q", c, got, want)
			}
			if body := get(t, d.URL); standin.Sum([]byte(body)) != d.SHA256 || len(body) != d.Size {
				t.Errorf("%+v: the body of %s is another", c, d.URL)
			}
		}
	}
}

func TestStartListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	s, err := Parse("x", []byte("about: x\ndocuments: 2\nquotas: [{name: a, documents: 1}, {name: b}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(Options{Listen: addr}); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("Start at an address in use: got %v", err)
	}
	l.Close()
	st, err := s.Start(Options{Listen: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if got, want := st.Base(), "http://"+addr; got != want {
		t.Errorf("Base is %s, want %s", got, want)
	}
	if other := st.List()[1].URL; !strings.HasPrefix(other, "http://127.0.0.1:") || strings.HasPrefix(other, st.Base()) {
		t.Errorf("the other quota is at %s", other)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ listen, first, others string }{
		{"", "127.0.0.1:0", "127.0.0.1:0"},
		{":8080", "127.0.0.1:8080", "127.0.0.1:0"},
		{"0.0.0.0:8080", "0.0.0.0:8080", "0.0.0.0:0"},
		{"[::1]:", "[::1]:0", "[::1]:0"},
	} {
		first, others, err := addresses(c.listen)
		if first != c.first || others != c.others || err != nil {
			t.Errorf("%q: got %s, %s, %v", c.listen, first, others, err)
		}
	}
	if _, _, err := addresses("8080"); err == nil || !strings.Contains(err.Error(), "try: 127.0.0.1:8080") {
		t.Errorf("got %v", err)
	}
}

func TestStartTLS(t *testing.T) {
	st := start(t, "about: x\ndocuments: 2\nlinks: {}\nquotas: [{name: a, documents: 1}, {name: b}]\n", Options{TLS: true})
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(st.CA()) {
		t.Fatalf("CA is %q", st.CA())
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for _, d := range st.List() { // one certificate is good for both quotas and for the links
		resp, err := client.Get(d.URL)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || standin.Sum(b) != d.SHA256 || resp.ProtoMajor != 2 || !strings.Contains(resp.Request.URL.Path, "/files/") {
			t.Errorf("%s: %v %s from %s", d.URL, err, resp.Proto, resp.Request.URL)
		}
	}
}

func TestToken(t *testing.T) {
	if got := start(t, "about: x\n", Options{}).Token(); got != "" {
		t.Errorf("Token is %q where none is needed", got)
	}
	st := start(t, "about: x\ntoken: {}\n", Options{})
	r, err := http.NewRequest("GET", st.List()[0].URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token string
		want  int
	}{{"wrong", 401}, {st.Token(), 200}} {
		r.Header.Set("Authorization", "Bearer "+c.token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("token %q: got %d, want %d", c.token, resp.StatusCode, c.want)
		}
	}
}

// TestTokenIsRenewed when half its life is over: whoever gets it can use it.
func TestTokenIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &Stand{tokens: standin.NewTokens(4 * time.Second), lifetime: 4 * time.Second}
		first := st.Token()
		time.Sleep(2*time.Second - time.Millisecond)
		if got := st.Token(); got != first {
			t.Error("another token before half of the first one's life")
		}
		time.Sleep(time.Millisecond)
		if got := st.Token(); got == first || got == "" {
			t.Errorf("got %q after half of the life of %q", got, first)
		}
	})
}
