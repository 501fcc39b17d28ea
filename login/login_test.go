package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const minute, hour = time.Minute, time.Hour

// R4: renewal is single-flight.
func TestManyShareOneRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := gives("1", 3600, "")
		slow.after = time.Second
		l, s := app(t), &service{answers: []answer{slow}}
		start := time.Now()
		for _, err := range all(t.Context(), 16, l, s, "") {
			if err != nil {
				t.Errorf("Renew: %v", err)
			}
		}
		wantToken(t, l, "1")
		wantGrants(t, s, "client_credentials")
		if got := time.Since(start); got != time.Second {
			t.Errorf("it took %v, want one request's time", got)
		}
	})
}

// R4, over a network.
func TestManyShareOneRequest(t *testing.T) {
	s := &service{answers: []answer{gives("1", 3600, "")}}
	server := httptest.NewServer(s)
	defer server.Close()
	l := newLogin(t, appConfig(t, server.URL))
	for _, err := range all(t.Context(), 16, l, server.Client().Transport, "") {
		if err != nil {
			t.Errorf("Renew: %v", err)
		}
	}
	wantToken(t, l, "1")
	wantGrants(t, s, "client_credentials")
}

func TestManyShareOneError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := refuses(503, "")
		busy.after = time.Second
		l, s := app(t), &service{answers: []answer{busy, gives("1", 3600, "")}}
		for _, err := range all(t.Context(), 16, l, s, "") {
			if e, ok := errors.AsType[*Error](err); !ok || e.Status != 503 {
				t.Errorf("Renew: got %v, want the 503", err)
			}
		}
		wantToken(t, l, "")
		wantGrants(t, s, "client_credentials")
	})
}

// A token is handed out as long as it is good for a minute, or for half of its life.
func TestTokenRunsOut(t *testing.T) {
	for _, tt := range []struct {
		life int // seconds
		good time.Duration
	}{
		{3600, 59 * minute},
		{120, minute},
		{119, 59*time.Second + 500*time.Millisecond},
		{60, 30 * time.Second},
		{1, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := app(t)
			wantToken(t, l, "")
			renew(t, l, &service{answers: []answer{gives("1", tt.life, "")}}, "")
			time.Sleep(tt.good)
			if _, ok := l.Token(time.Now()); !ok {
				t.Errorf("a token that lives %d s is not good after %v", tt.life, tt.good)
			}
			time.Sleep(time.Nanosecond)
			if _, ok := l.Token(time.Now()); ok {
				t.Errorf("a token that lives %d s is good after more than %v", tt.life, tt.good)
			}
		})
	}
}

func TestTokenWithoutALifeIsGoodUntilRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := app(t), &service{answers: []answer{gives("1", 0, ""), gives("2", 0, "")}}
		renew(t, l, s, "")
		time.Sleep(10 * 365 * 24 * hour)
		wantToken(t, l, "1")
		renew(t, l, s, "")
		wantToken(t, l, "1")
		renew(t, l, s, tokenCanary+"1")
		wantToken(t, l, "2")
		wantGrants(t, s, "client_credentials", "client_credentials")
	})
}

// R4: a token that ran out during a wait is renewed before anything is sent with it.
func TestTokenRunsOutDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := app(t), &service{answers: []answer{gives("1", 3600, ""), gives("2", 3600, "")}}
		renew(t, l, s, "")
		wantToken(t, l, "1")
		time.Sleep(90 * minute)
		wantToken(t, l, "")
		renew(t, l, s, "")
		wantToken(t, l, "2")
	})
}

func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := gives("2", 3600, "")
		slow.after = time.Second
		l, s := app(t), &service{answers: []answer{gives("1", 3600, ""), slow}}
		renew(t, l, s, "")
		done := make(chan []error)
		go func() { done <- all(t.Context(), 16, l, s, tokenCanary+"1") }()
		synctest.Wait()
		wantToken(t, l, "") // nobody else need find out that it is refused
		for _, err := range <-done {
			if err != nil {
				t.Errorf("Renew: %v", err)
			}
		}
		wantToken(t, l, "2")
		renew(t, l, s, tokenCanary+"1") // who hears of the refusal later finds another at hand
		wantToken(t, l, "2")
		wantGrants(t, s, "client_credentials", "client_credentials")
	})
}

// A service that gives the refused token again must not be asked for ever.
func TestSameTokenAgain(t *testing.T) {
	l, s := app(t), &service{answers: []answer{gives("1", 3600, ""), gives("1", 3600, ""), gives("2", 3600, "")}}
	renew(t, l, s, "")
	if err := l.Renew(t.Context(), s, tokenCanary+"1"); !errors.Is(err, ErrSameToken) {
		t.Errorf("Renew: got %v, want ErrSameToken", err)
	}
	wantToken(t, l, "")
	wantGrants(t, s, "client_credentials", "client_credentials")
}

// Who waits and has been refused the token that the flight brings goes on to the next.
func TestFlightBringsWhatAWaiterWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := gives("1", 3600, "")
		slow.after = time.Second
		l, s := app(t), &service{answers: []answer{slow, gives("2", 3600, "")}}
		first := make(chan error)
		go func() { first <- l.Renew(t.Context(), s, "") }()
		synctest.Wait()
		renew(t, l, s, tokenCanary+"1")
		wantToken(t, l, "2")
		if err := <-first; err != nil {
			t.Errorf("Renew: %v", err)
		}
	})
}

var errLeft = errors.New("this caller left")

func TestWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := gives("1", 3600, "")
		slow.after = time.Second
		l, s := app(t), &service{answers: []answer{slow}}
		first := make(chan error)
		go func() { first <- l.Renew(t.Context(), s, "") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errLeft)
		defer cancel()
		if err := l.Renew(ctx, s, ""); !errors.Is(err, errLeft) {
			t.Errorf("the waiter got %v, want its own cause", err)
		}
		if err := <-first; err != nil {
			t.Errorf("the flight went down with a waiter: %v", err)
		}
		wantToken(t, l, "1")
		wantGrants(t, s, "client_credentials")
	})
}

func TestStarterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := gives("1", 3600, "")
		slow.after = time.Second
		l, s := app(t), &service{answers: []answer{slow, slow}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errLeft)
		defer cancel()
		first := make(chan error)
		go func() { first <- l.Renew(ctx, s, "") }()
		synctest.Wait()
		for _, err := range all(t.Context(), 8, l, s, "") {
			if err != nil {
				t.Errorf("a waiter went down with the starter: %v", err)
			}
		}
		if err := <-first; !errors.Is(err, errLeft) {
			t.Errorf("the starter got %v, want its own cause", err)
		}
		wantToken(t, l, "1")
		wantGrants(t, s, "client_credentials", "client_credentials")
	})
}

func TestNothingIsSentUnderADeadContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLeft)
	l, s := app(t), &service{}
	if err := l.Renew(ctx, s, ""); !errors.Is(err, errLeft) {
		t.Errorf("Renew: got %v, want the cause", err)
	}
	wantGrants(t, s)
}

// A panic below is its caller's; who waits must not wait for ever.
func TestStarterPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := app(t), &service{answers: []answer{gives("1", 3600, "")}}
		go func() {
			defer func() { recover() }()
			l.Renew(t.Context(), roundTrip(func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				panic("below")
			}), "")
		}()
		synctest.Wait()
		renew(t, l, s, "")
		wantToken(t, l, "1")
	})
}

// The secret is in the body and nowhere else, in one request a renewal, and is asked for
// each time.
func TestSecretIsInTheBody(t *testing.T) {
	s := &service{answers: []answer{gives("1", 3600, ""), gives("2", 3600, "")}}
	server := httptest.NewServer(s)
	defer server.Close()
	cfg := appConfig(t, server.URL)
	asked := 0
	cfg.Secret = func() (string, error) { asked++; return fmt.Sprint(secretCanary, asked), nil }
	l := newLogin(t, cfg)
	renew(t, l, server.Client().Transport, "")
	renew(t, l, server.Client().Transport, tokenCanary+"1")
	got := s.requests()
	if len(got) != 2 {
		t.Fatalf("got %d requests, want 2", len(got))
	}
	for i, r := range got {
		if r.path != "/contoso.example/oauth2/v2.0/token" || r.query != "" || r.authorization != "" {
			t.Errorf("got path %q, query %q, Authorization %q", r.path, r.query, r.authorization)
		}
		want := fmt.Sprintf("client_id=client-7&client_secret=%s%d&grant_type=client_credentials&scope=https%%3A%%2F%%2Fgraph.example%%2F.default", secretCanary, i+1)
		if got := r.form.Encode(); got != want {
			t.Errorf("body: got %q, want %q", got, want)
		}
	}
}

func TestNoSecret(t *testing.T) {
	var asked error
	cfg := appConfig(t, "https://login.example")
	cfg.Secret = func() (string, error) { return "", asked }
	l, s := newLogin(t, cfg), &service{}
	if err := l.Renew(t.Context(), s, ""); err == nil {
		t.Error("an empty secret is taken")
	}
	asked = errLeft
	if err := l.Renew(t.Context(), s, ""); !errors.Is(err, errLeft) {
		t.Errorf("Renew: got %v, want the error of Secret", err)
	}
	wantGrants(t, s)
}

func TestEndpoint(t *testing.T) {
	l := newLogin(t, appConfig(t, "https://login.chinacloudapi.cn/"))
	l.Endpoint().Host = "elsewhere.example"
	if got, want := l.Endpoint().String(), "https://login.chinacloudapi.cn/contoso.example/oauth2/v2.0/token"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no kind":             func(c *Config) { c.Kind = 0 },
		"no secret":           func(c *Config) { c.Secret = nil },
		"an app's prompt":     func(c *Config) { c.Prompt = func(string, string, time.Time) {} },
		"no prompt":           func(c *Config) { c.Kind, c.Secret = Person, nil },
		"a person's secret":   func(c *Config) { c.Kind, c.Prompt = Person, func(string, string, time.Time) {} },
		"no tenant":           func(c *Config) { c.Tenant = "" },
		"a tenant with steps": func(c *Config) { c.Tenant = ".." },
		"a tenant with paths": func(c *Config) { c.Tenant = "a/b" },
		"a tenant, escaped":   func(c *Config) { c.Tenant = "a%2fb" + secretCanary },
		"no client id":        func(c *Config) { c.ClientID = "" },
		"a client id's lines": func(c *Config) { c.ClientID = secretCanary + "\n" },
		"no scope":            func(c *Config) { c.Scope = "  " },
		"a scope's lines":     func(c *Config) { c.Scope = "a\n" + secretCanary },
		"no authority":        func(c *Config) { c.Authority = nil },
		"no host":             func(c *Config) { c.Authority = parse(t, "/login") },
		"in the clear":        func(c *Config) { c.Authority = parse(t, "http://login.example") },
		"user info":           func(c *Config) { c.Authority = parse(t, "https://me:"+secretCanary+"@login.example") },
		"a query":             func(c *Config) { c.Authority = parse(t, "https://login.example?sig="+secretCanary) },
		"a fragment":          func(c *Config) { c.Authority = parse(t, "https://login.example#a") },
	} {
		cfg := appConfig(t, "https://login.example")
		change(&cfg)
		_, err := New(cfg)
		if err == nil {
			t.Errorf("%s: not refused", name)
		} else if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, authority := range []string{"http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost", "https://login.example/adfs"} {
		newLogin(t, appConfig(t, authority))
	}
}
