package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// R4: tokens are got at the moment of sending, once for all that wait, as requests like any
// other; one that runs out in the middle is renewed.
func TestDriveLogin(t *testing.T) {
	t.Parallel()
	const docs, secret = 60, "canary-secret"
	tokens := standin.NewTokens(2 * time.Second)
	var given atomic.Int64
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tenant-1/oauth2/v2.0/token" || r.FormValue("client_secret") != secret || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		if given.Add(1) == 2 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":2}`, tokens.Valid())
	}))
	t.Cleanup(authority.Close)
	s := drive(t, docs, standin.Config{Tokens: tokens, Rules: []standin.Rule{standin.Where(standin.Select{
		Arrivals: []standin.Range{{First: 4, Last: 4}}}, standin.Throttle(429, standin.Seconds, 3*time.Second))}})
	u := newUser(t)
	u.vars = append(u.vars, "AZURE_AUTHORITY_HOST="+authority.URL, "AZURE_CLIENT_SECRET="+secret)
	login := []string{"--login", "app", "--tenant", "tenant-1", "--client-id", "app-1"}
	u.must(0, readDrive(s, login...)...)
	wholeOnce(t, s, docs)
	asked := 0
	for _, r := range u.requests("D1") {
		if r.Kind == "token" {
			asked++
		}
	}
	if asked != int(given.Load()) || asked < 3 {
		t.Errorf("%d requests for tokens in the ledger, the authority saw %d; want 3 or more", asked, given.Load())
	}
	keys := []string{}
	for _, sc := range u.status("D1").Scopes {
		keys = append(keys, sc.Key)
	}
	if !slices.Contains(keys, "msgraph:tenant=tenant-1,app=app-1") {
		t.Errorf("scopes %v do not name the tenant and the app", keys)
	}
	if strings.Contains(read(t, u.ledger()), secret) {
		t.Error("the ledger holds the secret")
	}
	u.vars[len(u.vars)-1] = "AZURE_CLIENT_SECRET=wrong"
	u.must(77, append([]string{"read", "msgraph:drive/D1", "--job", "refused", "--base-url", s.URL(""), "--progress", "none"}, login...)...).says(t, "invalid_client")
}

// Tokens that live shorter than the queue are renewed at the moment of sending, and items of
// batches that are refused again and again do not make the pauses grow.
func TestDriveShortTokens(t *testing.T) {
	t.Parallel()
	const docs = 40
	tokens := standin.NewTokens(2 * time.Second)
	s := drive(t, docs, standin.Config{Tokens: tokens, Rules: []standin.Rule{
		standin.Where(standin.Select{Documents: []standin.Range{{First: 1, Last: docs}}, Every: 5}, standin.Throttle(429, standin.Seconds, time.Second)),
	}})
	u := newUser(t)
	u.vars = append(u.vars, "AZURE_AUTHORITY_HOST="+s.URL(""), "AZURE_CLIENT_SECRET=x")
	u.must(0, readDrive(s, "--login", "app", "--tenant", "T", "--client-id", "A", "--batch", "5", "--rate", "8/s")...)
	wholeOnce(t, s, docs)
	if got := u.status("D1"); got.Requests.Sent != s.Journal.Len() {
		t.Errorf("%+v, %d arrivals", got, s.Journal.Len())
	}
}

// A 401 ends the run after one renewal: where a second token is refused as well, it is not
// the token that is wrong, and neither the service nor the authority is asked on and on.
func TestDriveRefusesEveryToken(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"alone": {"--batch", "off"}, "in batches": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := drive(t, 60, standin.Config{Tokens: standin.NewTokens(0)})
			s.SetRules(func(x *standin.Exchange) bool {
				refused := strings.HasSuffix(x.R.URL.Path, "/content") || strings.HasSuffix(x.R.URL.Path, "$batch")
				return refused && standin.Status(http.StatusUnauthorized)(x)
			})
			u := newUser(t)
			u.vars = append(u.vars, "AZURE_AUTHORITY_HOST="+s.URL(""), "AZURE_CLIENT_SECRET=x")
			args := append([]string{"--login", "app", "--tenant", "T", "--client-id", "A", "--concurrency", "1", "--rate", "200/s"}, more...)
			u.must(77, readDrive(s, args...)...)
			asked := map[string]int{}
			for _, r := range u.requests("D1") {
				asked[r.Kind]++
			}
			if asked["token"] != 2 || asked["read"]+asked["batch"] > 3 {
				t.Errorf("requests by kind: %v; want two tokens, and no more than a few tries", asked)
			}
		})
	}
}
