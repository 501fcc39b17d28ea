package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"
)

// asked is what a person was told.
type asked struct {
	uri, code string
	left      time.Duration
}

// person is a login of a person at a service that is not on a network. What it asks is added
// to the returned slice.
func person(t testing.TB) (*Login, *[]asked) {
	var got []asked
	cfg := appConfig(t, "https://login.example")
	cfg.Kind, cfg.Secret = Person, nil
	cfg.Prompt = func(uri, code string, until time.Time) { got = append(got, asked{uri, code, time.Until(until)}) }
	return newLogin(t, cfg), &got
}

func wantAsked(t testing.TB, got []asked, codes ...string) {
	t.Helper()
	var have []string
	for _, a := range got {
		have = append(have, a.code)
	}
	if !slices.Equal(have, codes) {
		t.Errorf("the person was asked to type %q, want %q", have, codes)
	}
}

func TestPersonTypesTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), refuses(400, "authorization_pending"),
			refuses(400, "slow_down"), refuses(400, "authorization_pending"), gives("1", 3600, "1")}}
		start := time.Now()
		renew(t, l, s, "")
		wantToken(t, l, "1")
		wantGrants(t, s, "code", "device_code", "device_code", "device_code", "device_code")
		if want := []asked{{"https://login.example/device", "ABCD", 900 * time.Second}}; !slices.Equal(*got, want) {
			t.Errorf("the person was told %v, want %v", *got, want)
		}
		// Every 5 s, and every 10 s from the slow_down on (RFC 8628 section 3.5).
		for i, want := range []int{0, 5, 10, 20, 30} {
			if got := s.requests()[i].at.Sub(start); got != time.Duration(want)*time.Second {
				t.Errorf("request %d left after %v, want %d s", i, got, want)
			}
		}
		if got, want := s.requests()[0], "client_id=client-7&scope=https%3A%2F%2Fgraph.example%2F.default+offline_access"; got.form.Encode() != want ||
			got.path != "/contoso.example/oauth2/v2.0/devicecode" {
			t.Errorf("the code was asked for with %s at %s, want %s", got.form.Encode(), got.path, want)
		}
	})
}

func TestManyShareOneCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), gives("1", 3600, "1")}}
		for _, err := range all(t.Context(), 16, l, s, "") {
			if err != nil {
				t.Errorf("Renew: %v", err)
			}
		}
		wantAsked(t, *got, "ABCD")
		wantGrants(t, s, "code", "device_code")
	})
}

// Later renewals need nobody, and use the newest refresh token.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), gives("1", 3600, "1"), gives("2", 3600, "2"), gives("3", 3600, ""), gives("4", 3600, "")}}
		renew(t, l, s, "")
		for i, token := range []string{"2", "3", "4"} {
			renew(t, l, s, fmt.Sprint(tokenCanary, i+1))
			wantToken(t, l, token)
		}
		wantAsked(t, *got, "ABCD")
		wantGrants(t, s, "code", "device_code", "refresh_token", "refresh_token", "refresh_token")
		for i, want := range []string{"1", "2", "2"} {
			if got := s.requests()[2+i].form.Get("refresh_token"); got != refreshCanary+want {
				t.Errorf("renewal %d used %q, want %q", i+1, got, refreshCanary+want)
			}
		}
	})
}

func TestPersonIsAskedAgain(t *testing.T) {
	for _, code := range []string{"invalid_grant", "interaction_required"} {
		synctest.Test(t, func(t *testing.T) {
			l, got := person(t)
			s := &service{answers: []answer{asks("ABCD", 900), gives("1", 3600, "1"), refuses(400, code), asks("EFGH", 900), gives("2", 3600, "2")}}
			s.answers = slices.Insert(s.answers, 3, refuses(429, "")) // the refusal is not forgotten
			renew(t, l, s, "")
			time.Sleep(hour)
			if e, ok := errors.AsType[*Error](l.Renew(t.Context(), s, "")); !ok || e.Status != 429 {
				t.Errorf("Renew: got %v, want the 429", e)
			}
			renew(t, l, s, "")
			wantToken(t, l, "2")
			wantAsked(t, *got, "ABCD", "EFGH")
			wantGrants(t, s, "code", "device_code", "refresh_token", "code", "code", "device_code")
		})
	}
}

// A refresh token is kept through what is no refusal of it.
func TestRefreshSurvivesAThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), gives("1", 3600, "1"), refuses(429, ""), refuses(401, "invalid_client"), gives("2", 3600, "")}}
		renew(t, l, s, "")
		for _, want := range []int{429, 401} {
			if e, ok := errors.AsType[*Error](l.Renew(t.Context(), s, tokenCanary+"1")); !ok || e.Status != want {
				t.Errorf("Renew: got %v, want %d", e, want)
			}
		}
		renew(t, l, s, tokenCanary+"1")
		wantToken(t, l, "2")
		wantAsked(t, *got, "ABCD")
	})
}

// Nobody has to type a second code because polling was cut short.
func TestCodeSurvives(t *testing.T) {
	for name, cut := range map[string]answer{
		"a throttle": refuses(429, ""),
		"an outage":  refuses(503, "temporarily_unavailable"),
		"a portal":   {status: 200, body: "<html>"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, got := person(t)
			s := &service{answers: []answer{asks("ABCD", 900), cut, gives("1", 3600, "1")}}
			if e, ok := errors.AsType[*Error](l.Renew(t.Context(), s, "")); !ok || e.Status != cut.status {
				t.Errorf("%s: got %v, want status %d", name, e, cut.status)
			}
			renew(t, l, s, "")
			wantToken(t, l, "1")
			wantAsked(t, *got, "ABCD", "ABCD")
			wantGrants(t, s, "code", "device_code", "device_code")
			if left := (*got)[1].left; left != 895*time.Second {
				t.Errorf("%s: told the second time that %v are left, want 895 s", name, left)
			}
		})
	}
}

func TestCodeSurvivesItsStarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), refuses(400, "authorization_pending"), gives("1", 3600, "1")}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 7*time.Second, errLeft)
		defer cancel()
		first := make(chan error)
		go func() { first <- l.Renew(ctx, s, "") }()
		synctest.Wait()
		renew(t, l, s, "")
		if err := <-first; !errors.Is(err, errLeft) {
			t.Errorf("the starter got %v, want its own cause", err)
		}
		wantToken(t, l, "1")
		wantAsked(t, *got, "ABCD", "ABCD")
		wantGrants(t, s, "code", "device_code", "device_code")
	})
}

func TestCodeRunsOutWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := person(t)
		s := &service{answers: []answer{asks("ABCD", 900), asks("EFGH", 900), gives("1", 3600, "1")}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errLeft)
		defer cancel()
		if err := l.Renew(ctx, s, ""); !errors.Is(err, errLeft) {
			t.Errorf("Renew: got %v, want the cause", err)
		}
		time.Sleep(900 * time.Second)
		renew(t, l, s, "")
		wantAsked(t, *got, "ABCD", "EFGH")
		wantGrants(t, s, "code", "code", "device_code")
	})
}

// A code that is of no more use is not asked for again.
func TestCodeIsRefused(t *testing.T) {
	for _, code := range []string{"access_denied", "authorization_declined", "expired_token", "invalid_grant"} {
		synctest.Test(t, func(t *testing.T) {
			l, got := person(t)
			s := &service{answers: []answer{asks("ABCD", 900), refuses(400, code), asks("EFGH", 900), gives("1", 3600, "1")}}
			if e, ok := errors.AsType[*Error](l.Renew(t.Context(), s, "")); !ok || e.Code != code {
				t.Errorf("Renew: got %v, want %s", e, code)
			}
			renew(t, l, s, "")
			wantAsked(t, *got, "ABCD", "EFGH")
		})
	}
}

// A code ends by our own clock too: while polling, and while a poll waits for its answer.
func TestNobodyTypesTheCode(t *testing.T) {
	stuck := refuses(400, "authorization_pending")
	stuck.after = hour
	for name, second := range map[string]answer{"between polls": refuses(400, "authorization_pending"), "in a poll": stuck} {
		synctest.Test(t, func(t *testing.T) {
			l, got := person(t)
			s := &service{answers: []answer{asks("ABCD", 12), refuses(400, "authorization_pending"), second, asks("EFGH", 12), gives("1", 3600, "1")}}
			start := time.Now()
			e, ok := errors.AsType[*Error](l.Renew(t.Context(), s, ""))
			if !ok || e.Code != "expired_token" || e.Status != 0 {
				t.Errorf("%s: got %v, want expired_token", name, e)
			}
			if got := time.Since(start); got != 12*time.Second {
				t.Errorf("%s: it took %v, want 12 s", name, got)
			}
			renew(t, l, s, "")
			wantAsked(t, *got, "ABCD", "EFGH")
		})
	}
}

// x/oauth2 leaves the context out of the request for a code.
func TestRequestForACodeEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := asks("ABCD", 900)
		slow.after = hour
		l, _ := person(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errLeft)
		defer cancel()
		start := time.Now()
		if err := l.Renew(ctx, &service{answers: []answer{slow}}, ""); !errors.Is(err, errLeft) {
			t.Errorf("Renew: got %v, want the cause", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("it took %v, want 1 s", got)
		}
	})
}

// What a service tells to show must be fit to be shown.
func TestCodeIsUnusable(t *testing.T) {
	for _, body := range []string{
		`{}`, `null`, `[]`, `<html>`, ``,
		`{"device_code":"d","user_code":"ABCD","verification_uri":"https://login.example/device"}`,
		`{"device_code":"d","user_code":"ABCD","verification_uri":"javascript:alert(1)","expires_in":900}`,
		`{"device_code":"d","user_code":"ABCD","expires_in":900}`,
		`{"device_code":"d","verification_uri":"https://login.example/device","expires_in":900}`,
		`{"user_code":"ABCD","verification_uri":"https://login.example/device","expires_in":900}`,
		`{"device_code":"d","user_code":"\u001b[2J","verification_uri":"https://login.example/device","expires_in":900}`,
		`{"device_code":"d","user_code":"ABCD","verification_uri":"https://login.example/\u202e","expires_in":900}`,
	} {
		l, got := person(t)
		err := l.Renew(t.Context(), &service{answers: []answer{{status: 200, body: body}}}, "")
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusOK {
			t.Errorf("%s: got %v, want an Error", body, err)
		}
		wantAsked(t, *got)
	}
}

// deviceFor is a code that a person was asked to type.
func deviceFor(t testing.TB, l *Login) *oauth2.DeviceAuthResponse {
	t.Helper()
	d, err := l.code(t.Context(), &service{answers: []answer{asks("ABCD", 900)}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
