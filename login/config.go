package login

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Kind says on whose behalf tokens are got.
type Kind uint8

const (
	// App is the client itself, which has a secret.
	App Kind = iota + 1
	// Person is somebody who is asked to open a page and to type a code there.
	Person
)

func (k Kind) String() string {
	switch k {
	case App:
		return "app"
	case Person:
		return "person"
	default:
		return "unknown"
	}
}

// Config says whose tokens to get, and where. Every field but Secret and Prompt is needed.
type Config struct {
	Kind Kind
	// Authority is where tokens are given: https://login.microsoftonline.com, or that of a
	// national cloud. Plain http is for this machine alone.
	Authority *url.URL
	// Tenant is the directory: its id or its domain, or "organizations" for a person's own.
	Tenant   string
	ClientID string
	// Secret is the client's secret. It is asked for at each renewal, when no lock is held,
	// and never kept. Its error is handed to who renews. App only, and needed there.
	Secret func() (string, error)
	// Scope is what the token is for, such as https://graph.microsoft.com/.default; several
	// are separated by blanks. For a person offline_access is added, or each renewal would
	// need the person.
	Scope string
	// Prompt tells the person what to open and which code to type before until. It is called
	// by the Renew that asks, and again with the same code by one that goes on in its place;
	// polling begins when it returns. Person only, and needed there.
	Prompt func(uri, code string, until time.Time)
}

// offline is the scope that makes a service give refresh tokens.
const offline = "offline_access"

// validate quotes no value: one may be a secret that was put into the wrong field.
func (c Config) validate() error {
	switch {
	case c.Kind != App && c.Kind != Person:
		return errors.New("the kind is neither an app nor a person")
	case c.Kind == App && c.Secret == nil:
		return errors.New("an app needs its secret")
	case c.Kind == App && c.Prompt != nil:
		return errors.New("an app asks nobody")
	case c.Kind == Person && c.Prompt == nil:
		return errors.New("a person needs a prompt")
	case c.Kind == Person && c.Secret != nil:
		return errors.New("a person has no client secret")
	case !segment(c.Tenant):
		return errors.New("the tenant is neither an id nor a domain")
	case !word(c.ClientID):
		return errors.New("the client id is missing, or has characters that an id has not")
	case len(strings.Fields(c.Scope)) == 0 || strings.ContainsFunc(strings.ReplaceAll(c.Scope, " ", ""), unsayable):
		return errors.New("the scope is missing, or has characters that a scope has not")
	}
	return checkAuthority(c.Authority)
}

func checkAuthority(u *url.URL) error {
	switch {
	case u == nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the authority is not an address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the authority is a scheme and a host, without user info, query or fragment")
	case u.Scheme == "https", u.Scheme == "http" && local(u.Hostname()):
		return nil
	default:
		return errors.New("the authority is not https: a secret is not sent in the clear")
	}
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// segment reports whether s can stand in a path as it is, and is no step in it.
func segment(s string) bool {
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}
	return strings.Trim(s, ".") != "" && !strings.ContainsFunc(s, other)
}

// word reports whether s is one word of visible ASCII, as ids and tokens are.
func word(s string) bool { return s != "" && !strings.ContainsFunc(s, unsayable) }

func unsayable(r rune) bool { return r <= ' ' || r > '~' }

// scopes are those to ask for.
func (c Config) scopes() []string {
	scopes := strings.Fields(c.Scope)
	if c.Kind == Person && !slices.Contains(scopes, offline) {
		scopes = append(scopes, offline)
	}
	return scopes
}

func (c Config) host() string {
	if c.Authority == nil {
		return ""
	}
	return c.Authority.Host
}

// String is what may be seen of it.
func (c Config) String() string {
	return fmt.Sprintf("%s of client %q in tenant %q at %q", c.Kind, c.ClientID, c.Tenant, c.host())
}

// GoString implements [fmt.GoStringer].
func (c Config) GoString() string { return "login.Config{" + c.String() + "}" }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", c.Kind.String()), slog.String("authority", c.host()),
		slog.String("tenant", c.Tenant), slog.String("client", c.ClientID), slog.String("scope", c.Scope))
}
