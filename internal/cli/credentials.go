package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/login"
	"github.com/dogear/dogear/reader"
)

// credentials puts the job's headers and bearer token on requests.
type credentials struct {
	headers []header
	env     string
	file    string
	login   *login.Login // nil: tokens are not asked for
	agent   func(*url.URL) string

	mu    sync.Mutex // guards what follows
	token string
	seen  time.Time // when the file was last changed
}

// header is a template: a name, and a value with ${VAR} in it.
type header struct{ name, template string }

func newCredentials(s ledger.Settings, l *login.Login) *credentials {
	c := &credentials{env: s.BearerEnv, file: s.BearerFile, login: l}
	for _, h := range s.Headers {
		name, value, _ := strings.Cut(h, ":")
		c.headers = append(c.headers, header{textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)})
	}
	return c
}

// checkCredentials sees that everything that the settings name is at hand.
func checkCredentials(s ledger.Settings) error {
	req, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err == nil {
		err = newCredentials(s, nil).Sign(req)
	}
	if err == nil && s.Login == "app" {
		_, err = checkToken(os.Getenv(s.SecretEnv), "the variable "+s.SecretEnv)
	}
	if err != nil {
		return &codedError{code: exitUsage, err: err}
	}
	return nil
}

// Sign implements [reader.Credentials].
func (c *credentials) Sign(req *http.Request) error {
	for _, h := range c.headers {
		value, err := expand(h.template)
		if err != nil {
			return err
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("%w: the value of header %s cannot be sent", reader.ErrNoCredential, h.name)
		}
		req.Header.Set(h.name, value)
	}
	if c.agent != nil && req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.agent(req.URL))
	}
	token, err := c.bearer()
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// Renew implements [reader.Credentials]: a file may hold another token meanwhile, and a login
// asks for one.
func (c *credentials) Renew(ctx context.Context, refused *http.Request, rt http.RoundTripper) (bool, error) {
	var was string
	if refused != nil {
		was = strings.TrimPrefix(refused.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case c.login != nil:
		err := c.login.Renew(ctx, rt, was)
		if e, ok := errors.AsType[*login.Error](err); ok && e.Status < 500 {
			err = fmt.Errorf("%w: %w", reader.ErrNoCredential, err)
		}
		return err == nil, err
	case c.file == "" || refused == nil:
		return false, nil
	}
	c.mu.Lock()
	c.seen = time.Time{}
	c.mu.Unlock()
	token, err := c.bearer()
	return err == nil && token != was, err
}

// Names implements [reader.Credentials].
func (c *credentials) Names() []string {
	names := []string{"Authorization", "Cookie", "Proxy-Authorization"}
	for _, h := range c.headers {
		names = append(names, h.name)
	}
	return names
}

// bearer is the token now. The file is read again when it has changed; one reader does it
// for all.
func (c *credentials) bearer() (string, error) {
	switch {
	case c.env != "":
		return checkToken(os.Getenv(c.env), "the variable "+c.env)
	case c.login != nil:
		token, ok := c.login.Token(time.Now())
		if !ok {
			return "", reader.ErrExpired
		}
		return token, nil
	case c.file == "":
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.file)
	if err != nil {
		return "", fmt.Errorf("%w: %w", reader.ErrNoCredential, err)
	}
	if !c.seen.IsZero() && info.ModTime().Equal(c.seen) {
		return c.token, nil
	}
	raw, err := readToken(c.file)
	if err != nil {
		return "", fmt.Errorf("%w: %w", reader.ErrNoCredential, err)
	}
	token, err := checkToken(string(bytes.TrimSpace(raw)), "the file "+c.file)
	if err != nil {
		return "", err
	}
	c.token, c.seen = token, info.ModTime()
	return token, nil
}

// maxToken bounds what a bearer file may hold.
const maxToken = 64 << 10

// readToken reads a file without waiting for anybody: a pipe may have no other end.
func readToken(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > maxToken {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", path, maxToken)
	}
	return io.ReadAll(io.LimitReader(f, maxToken))
}

func checkToken(token, where string) (string, error) {
	switch {
	case token == "":
		return "", fmt.Errorf("%w: %s is empty or not set", reader.ErrNoCredential, where)
	case !httpguts.ValidHeaderFieldValue(token) || strings.ContainsAny(token, " \t"):
		return "", fmt.Errorf("%w: %s holds no bearer token", reader.ErrNoCredential, where)
	}
	return token, nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand fills ${VAR} in from the environment.
func expand(template string) (string, error) {
	var missing string
	out := variable.ReplaceAllStringFunc(template, func(v string) string {
		name := variable.FindStringSubmatch(v)[1]
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", fmt.Errorf("%w: the variable %s is not set", reader.ErrNoCredential, missing)
	}
	return out, nil
}

var secretHeader = regexp.MustCompile(`(?i)auth|cookie|token|secret|key|password|credential|signature|session`)

// ownHeaders are those that dogear sets itself.
var ownHeaders = map[string]bool{"Host": true, "Range": true, "If-Range": true, "Accept-Encoding": true, "Content-Length": true, "Connection": true,
	"Transfer-Encoding": true, "Upgrade": true, "Te": true, "Trailer": true, "Expect": true, "If-Match": true, "If-None-Match": true,
	"If-Modified-Since": true, "If-Unmodified-Since": true, "Keep-Alive": true}

// checkHeader refuses a header that is none, one that dogear sets, and a literal credential.
func checkHeader(h string) error {
	name, value, ok := strings.Cut(h, ":")
	name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	value = strings.TrimSpace(value)
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(name):
		return usage("--header: give a name and a value, such as 'X-Team: docs'")
	case !httpguts.ValidHeaderFieldValue(value):
		return usage("--header %s: the value has characters that cannot be sent", name)
	case ownHeaders[name]:
		return usage("--header %s: dogear sets this one itself", name)
	case secretHeader.MatchString(name) && !variable.MatchString(value),
		value != dogear.Redact(value) && strings.Contains(value, "://"):
		return &usageError{err: fmt.Errorf("--header %s: a credential does not belong on the command line, where others see it", name),
			try: fmt.Sprintf("--header '%s: ${VARIABLE}' with the value in the environment", name)}
	}
	return nil
}
