package login

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

// wantClean wants an error to show nothing of what was sent and answered, whatever the verb.
func wantClean(t testing.TB, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
			if s := fmt.Sprintf(verb, err); strings.Contains(s, "CANARY") {
				t.Errorf("%s of an error shows %s", verb, s)
			}
		}
	}
}

func TestAnswersWithoutAToken(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html"}}
	for _, tt := range []struct {
		answer answer
		want   Error
		says   string
	}{
		{refuses(401, "invalid_client"), Error{Code: "invalid_client", Status: 401}, "secret is wrong"},
		{refuses(400, "unauthorized_client"), Error{Code: "unauthorized_client", Status: 400}, "allow it where the app is registered"},
		{refuses(400, "invalid_scope"), Error{Code: "invalid_scope", Status: 400}, "scope"},
		{refuses(400, "access_denied"), Error{Code: "access_denied", Status: 400}, "administrator"},
		{refuses(400, "expired_token"), Error{Code: "expired_token", Status: 400}, "start again"},
		{refuses(400, "something_new"), Error{Code: "something_new", Status: 400}, "something_new (HTTP 400)"},
		{refuses(200, "invalid_client"), Error{Code: "invalid_client", Status: 200}, "secret is wrong"},
		{refuses(400, secretCanary), Error{Status: 400}, "HTTP 400 Bad Request"},
		{refuses(400, strings.Repeat("a", 41)), Error{Status: 400}, "HTTP 400 Bad Request"},
		{refuses(429, ""), Error{Status: 429}, "try again later"},
		{refuses(503, "temporarily_unavailable"), Error{Code: "temporarily_unavailable", Status: 503}, "try again later"},
		{answer{status: 503, body: secretCanary, header: html}, Error{Status: 503}, "try again later"},
		{answer{status: 404, body: "error=" + secretCanary, header: http.Header{"Content-Type": {"text/plain"}}}, Error{Status: 404}, "tenant"},
		{answer{status: 200, body: "<html>" + secretCanary, header: html}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: "access_token=" + tokenCanary, header: http.Header{"Content-Type": {"text/plain"}}}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: "null"}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: ""}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `"` + secretCanary + `"`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"token_type":"Bearer"}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":17,"x":"` + secretCanary + `"}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":"a","expires_in":"` + secretCanary + `"}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":"a","expires_in":-1}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":"a\r\nX-Other: CANARY"}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":"CANARY","token_type":"mac"}`}, Error{Status: 200}, "no token"},
		{answer{status: 200, body: `{"access_token":"a","x":"` + strings.Repeat("a", maxAnswer) + `"}`}, Error{Status: 200}, "no token"},
	} {
		s := &service{answers: []answer{tt.answer}}
		server := httptest.NewServer(s)
		l := newLogin(t, appConfig(t, server.URL))
		err := l.Renew(t.Context(), server.Client().Transport, "")
		server.Close()
		tt.want.Host = l.Endpoint().Host
		if e, ok := errors.AsType[*Error](err); !ok || *e != tt.want {
			t.Errorf("%d %.60s: got %#v, want %#v", tt.answer.status, tt.answer.body, err, tt.want)
		} else if !strings.Contains(e.Error(), tt.says) {
			t.Errorf("%d %.60s: %q does not say %q", tt.answer.status, tt.answer.body, e, tt.says)
		}
		wantClean(t, err)
		wantToken(t, l, "")
		wantGrants(t, s, "client_credentials") // nothing is tried again
	}
}

// A redirect would take the secret elsewhere.
func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"/elsewhere", "http://%zz" + secretCanary} {
			s := &service{answers: []answer{{status: status, header: http.Header{"Location": {location}}}}}
			server := httptest.NewServer(s)
			l := newLogin(t, appConfig(t, server.URL))
			err := l.Renew(t.Context(), server.Client().Transport, "")
			server.Close()
			if e, ok := errors.AsType[*Error](err); !ok || e.Status != status {
				t.Errorf("%d: got %v", status, err)
			}
			wantClean(t, err)
			wantGrants(t, s, "client_credentials")
		}
	}
}

// gateError stands for an error type of the caller's gate.
type gateError struct{ scope string }

func (e *gateError) Error() string { return "scope " + e.scope + " stays closed" }

func TestErrorOfTheRoundTripperComesThrough(t *testing.T) {
	sent := 0
	rt := roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, &gateError{"host:login.example"}
	})
	asPerson, _ := person(t)
	for _, l := range []*Login{app(t), asPerson} {
		sent = 0
		err := l.Renew(t.Context(), rt, "")
		if e, ok := errors.AsType[*gateError](err); !ok || e.scope != "host:login.example" || sent != 1 {
			t.Errorf("got %v after %d sendings, want the gate's error after one", err, sent)
		}
		if want := "ask login.example for a token: scope host:login.example stays closed"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// watched tells whether it was closed; its read ends badly.
type watched struct {
	io.Reader
	closed bool
}

func (w *watched) Close() error { w.closed = true; return nil }

func TestAnswerIsCut(t *testing.T) {
	asPerson, _ := person(t)
	for _, l := range []*Login{app(t), asPerson} {
		body := &watched{Reader: io.MultiReader(strings.NewReader(`{"access_token":"CANARY`), broken{})}
		err := l.Renew(t.Context(), roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.GetBody != nil {
				t.Error("a transport below could send the request again")
			}
			return &http.Response{StatusCode: 200, Body: body, Header: http.Header{}}, nil
		}), "")
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v, want what cut the answer", err)
		}
		if !body.closed {
			t.Error("the answer's body is left open")
		}
		wantClean(t, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// K7: whoever prints or logs a login shows no secret.
func TestNothingSecretIsShown(t *testing.T) {
	cfg := appConfig(t, "https://login.example")
	l := newLogin(t, cfg)
	renew(t, l, &service{answers: []answer{gives("1", 3600, "1")}}, "")
	wantToken(t, l, "1")
	asPerson, _ := person(t)
	asPerson.device = deviceFor(t, asPerson)
	asPerson.refresh = &oauth2.Token{RefreshToken: refreshCanary}

	type owner struct {
		login *Login
		Login *Login
		cfg   Config
	}
	for _, v := range []any{cfg, &cfg, l, asPerson, owner{l, asPerson, cfg}, &owner{asPerson, l, cfg}, []*Login{l, asPerson}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X"} {
			s := fmt.Sprintf(verb, v)
			if strings.Contains(s, "CANARY") || strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", "CANARY")) {
				t.Errorf("%s shows %s", verb, s)
			}
		}
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("text", "it", v)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("json", "it", v)
		if strings.Contains(b.String(), "CANARY") {
			t.Errorf("a log shows %s", b.String())
		}
	}
	if got, want := fmt.Sprint(l), `app of client "client-7" in tenant "contoso.example" at "login.example"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("text", "login", l)
	if want := "login.kind=app login.authority=login.example login.tenant=contoso.example login.client=client-7"; !strings.Contains(b.String(), want) {
		t.Errorf("got %s, want %s in it", b.String(), want)
	}
}
