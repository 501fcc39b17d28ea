package login

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// What no error, log or formatted value may ever show.
const (
	secretCanary  = "hunter2-secret-CANARY"
	tokenCanary   = "eyJ.token-CANARY."
	refreshCanary = "refresh-CANARY."
	deviceCanary  = "device-CANARY"
	wordsCanary   = "AADSTS7000215: CANARY"
)

// answer is one of the service's, after a while.
type answer struct {
	status int
	body   string
	header http.Header
	after  time.Duration
}

// gives is a token answer; a life of zero is not told.
func gives(token string, life int, refresh string) answer {
	m := map[string]any{"access_token": tokenCanary + token, "token_type": "Bearer"}
	if life != 0 {
		m["expires_in"] = life
	}
	if refresh != "" {
		m["refresh_token"] = refreshCanary + refresh
	}
	return answer{status: 200, body: object(m)}
}

// refuses is an error as services write it: with words that quote what they were sent.
func refuses(status int, code string) answer {
	return answer{status: status, body: object(map[string]any{"error": code, "error_uri": "https://e.example/" + secretCanary,
		"error_description": wordsCanary + secretCanary + tokenCanary + refreshCanary + deviceCanary})}
}

// asks is a code for a person that is good for life seconds.
func asks(code string, life int) answer {
	return answer{status: 200, body: object(map[string]any{"device_code": deviceCanary + code, "user_code": code,
		"verification_uri": "https://login.example/device", "expires_in": life, "interval": 5})}
}

func object(m map[string]any) string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// sent is a request that reached the service.
type sent struct {
	path, query, authorization string
	form                       url.Values
	at                         time.Time
}

// service answers with one answer after the other, and 500 when it has no more.
type service struct {
	mu      sync.Mutex
	answers []answer
	got     []sent
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.RawQuery
	r.ParseForm()
	s.mu.Lock()
	s.got = append(s.got, sent{r.URL.Path, query, r.Header.Get("Authorization"), r.PostForm, time.Now()})
	a := answer{status: 500, body: "no answer left " + secretCanary}
	if len(s.answers) > 0 {
		a, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	select {
	case <-time.After(a.after):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write([]byte(a.body))
}

// requests are those that reached it so far.
func (s *service) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sent(nil), s.got...)
}

// RoundTrip reaches the service without a network, for use in a bubble.
func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if req.Context().Err() != nil {
		return nil, req.Context().Err()
	}
	return w.Result(), nil
}

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func appConfig(t testing.TB, authority string) Config {
	return Config{Kind: App, Authority: parse(t, authority), Tenant: "contoso.example", ClientID: "client-7",
		Secret: func() (string, error) { return secretCanary, nil }, Scope: "https://graph.example/.default"}
}

func newLogin(t testing.TB, cfg Config) *Login {
	t.Helper()
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// app is a login of an app at a service that is not on a network.
func app(t testing.TB) *Login { return newLogin(t, appConfig(t, "https://login.example")) }

func renew(t testing.TB, l *Login, rt http.RoundTripper, refused string) {
	t.Helper()
	if err := l.Renew(t.Context(), rt, refused); err != nil {
		t.Fatalf("Renew: %v", err)
	}
}

// wantToken wants the token at hand to be this one; "" is none.
func wantToken(t testing.TB, l *Login, want string) {
	t.Helper()
	if want != "" {
		want = tokenCanary + want
	}
	if got, ok := l.Token(time.Now()); got != want || ok != (want != "") {
		t.Errorf("Token: got %q, %v, want %q", got, ok, want)
	}
}

// wantGrants wants these grants to have been asked for, in this order.
func wantGrants(t testing.TB, s *service, want ...string) {
	t.Helper()
	var got []string
	for _, r := range s.requests() {
		grant := r.form.Get("grant_type")
		if strings.HasSuffix(r.path, "/devicecode") {
			grant = "code"
		}
		got = append(got, strings.TrimPrefix(grant, "urn:ietf:params:oauth:grant-type:"))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("requests: got %v, want %v", got, want)
	}
}

// all calls Renew n times at once, and returns the errors when all have returned.
func all(ctx context.Context, n int, l *Login, rt http.RoundTripper, refused string) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = l.Renew(ctx, rt, refused) })
	}
	wg.Wait()
	return errs
}
