package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/login"
)

// loginFlags say where tokens come from. A job keeps them, and never the secret.
type loginFlags struct {
	Login    string `help:"Get tokens from the tenant: as the app itself (its secret is in --client-secret-env), or as a person, who types a code at the service's page. AZURE_AUTHORITY_HOST names another authority than Microsoft's." placeholder:"app|person"`
	Tenant   string `help:"The tenant, in the keys of scopes and for --login." placeholder:"ID"`
	ClientID string `name:"client-id" help:"The app's id, in the keys of scopes and for --login." placeholder:"ID"`
	Secret   string `name:"client-secret-env" help:"Variable that holds the app's secret. Default: AZURE_CLIENT_SECRET." placeholder:"VAR"`
}

// apply puts the flags into a new job's settings.
func (f loginFlags) apply(set *ledger.Settings) error {
	for _, p := range []struct{ flag, value string }{{"--tenant", f.Tenant}, {"--client-id", f.ClientID}} {
		if p.value != "" && (!scopeKeys.MatchString(p.value) || strings.ContainsAny(p.value, "/?#%,=")) {
			return usage("%s: give an id or a domain name", p.flag)
		}
	}
	if f.Login != "" && f.Login != "app" && f.Login != "person" {
		return usage("--login: give app or person")
	}
	put(&set.Login, f.Login)
	put(&set.Tenant, f.Tenant)
	put(&set.ClientID, f.ClientID)
	put(&set.SecretEnv, f.Secret)
	if set.Login == "" {
		return nil
	}
	if set.Tenant == "" || set.ClientID == "" {
		return usage("--login needs --tenant and --client-id")
	}
	if set.BearerEnv != "" || set.BearerFile != "" {
		return usage("--login gets tokens itself: --bearer-env and --bearer-file go without it")
	}
	if set.SecretEnv == "" {
		set.SecretEnv = "AZURE_CLIENT_SECRET"
	}
	return nil
}

// again puts the flags into the settings of a job that is resumed. It keeps the identity that
// it began with (W6).
func (f loginFlags) again(set *ledger.Settings) error {
	if f.Tenant != "" && f.Tenant != set.Tenant || f.ClientID != "" && f.ClientID != set.ClientID {
		return &usageError{err: errors.New("a job keeps the tenant and the app that it began with"), try: "a new job with `dogear read`"}
	}
	return f.apply(set)
}

// authority is where tokens are given, unless AZURE_AUTHORITY_HOST says another place: one of
// the national clouds, or a test's.
const authority = "https://login.microsoftonline.com"

// newLogin is what gets the job's tokens; nil: it has them from elsewhere. At is the service.
func newLogin(set ledger.Settings, at *url.URL, say func(string)) (*login.Login, error) {
	if set.Login == "" {
		return nil, nil
	}
	where := orElse(os.Getenv("AZURE_AUTHORITY_HOST"), authority)
	host, err := url.Parse(where)
	if err != nil || !isAddress(where) || host.Host == "" || host.User != nil || host.RawQuery != "" {
		return nil, usage("AZURE_AUTHORITY_HOST: give an http(s) address without a query or a credential")
	}
	if at == nil {
		return nil, usage("--login: tokens are for a service: name it with --profile or --base-url")
	}
	cfg := login.Config{
		Kind: login.App, Authority: host, Tenant: set.Tenant, ClientID: set.ClientID,
		Scope: at.Scheme + "://" + at.Host + "/.default",
	}
	if set.Login == "person" {
		cfg.Kind = login.Person
		cfg.Prompt = func(uri, code string, until time.Time) {
			say(fmt.Sprintf("sign in at %s with the code %s, before %s", dogear.Redact(uri), code, stamp(until)))
		}
	} else {
		cfg.Secret = func() (string, error) {
			return checkToken(os.Getenv(set.SecretEnv), "the variable "+set.SecretEnv)
		}
	}
	l, err := login.New(cfg)
	if err != nil {
		return nil, &usageError{err: err}
	}
	return l, nil
}
