package bucket

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dogear/dogear"
)

// allowed are the parameters that an address may have, by its scheme: what says where a bucket
// is and how to speak to it, and nothing that is a credential.
var allowed = map[string][]string{
	"s3": {"region", "endpoint", "profile", "use_path_style", "s3ForcePathStyle", "hostname_immutable", "disable_https",
		"dualstack", "fips", "accelerate", "ssetype", "kmskeyid", "role", "role_session_name", "role_duration",
		"web_identity_token_file", "request_checksum_calculation", "response_checksum_validation", "awssdk"},
	"gs":     {"universe_domain"},
	"azblob": {"storage_account", "domain", "protocol", "cdn", "localemu"},
}

// maxPrefix leaves room for a name: keys have at most 1024 bytes.
const maxPrefix = 512

// An Address says which bucket it is, where, and under which prefix results are saved.
type Address struct {
	scheme string
	bucket string
	prefix string // empty, or without slashes at its ends
	params url.Values
}

// Parse reads an address such as s3://bucket/prefix?region=eu-central-1. One that holds a
// credential is refused, and no error repeats what it was.
func Parse(raw string) (Address, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return Address{}, errors.New("the address of the bucket cannot be read: write SCHEME://BUCKET/PREFIX")
	}
	names, known := allowed[u.Scheme]
	switch {
	case !known:
		return Address{}, fmt.Errorf("there is no sink for %s addresses: give a folder, or an address that begins with s3://, gs:// or azblob://", u.Scheme)
	case u.User != nil:
		return Address{}, errors.New("the address of the bucket holds a credential before the @: leave it out; " + findsThem)
	case u.Fragment != "" || u.RawFragment != "":
		return Address{}, errors.New("the address of the bucket has a # in it: write %23")
	case u.Host == "" || u.Port() != "":
		return Address{}, fmt.Errorf("the address names no bucket: write %s://BUCKET/PREFIX; another host is an endpoint parameter", u.Scheme)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("the parameters of the bucket's address cannot be read")
	}
	for name := range q { // before anything else is said of the others
		if secret(name) {
			return Address{}, fmt.Errorf("the address of the bucket holds a credential in %s: leave it out; %s", shownParam(name), findsThem)
		}
	}
	for name, values := range q {
		if err := checkParam(name, values, names); err != nil {
			return Address{}, err
		}
	}
	prefix, err := cleanPrefix(u.Path)
	if err != nil {
		return Address{}, err
	}
	return Address{scheme: u.Scheme, bucket: u.Host, prefix: prefix, params: q}, nil
}

const findsThem = "credentials are taken from the environment, the service's own files, or the machine's role"

// word is a parameter's name that may be repeated in a message: no credential looks like it.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,29}$`)

func shownParam(name string) string {
	if word.MatchString(name) {
		return "the parameter " + name
	}
	return "a parameter"
}

// secret reports whether a parameter carries a credential, or the name of a file with one.
func secret(name string) bool {
	return dogear.SecretParam(name) || slices.Contains([]string{"sas", "accountkey", "account_key", "private_key_path", "role_external_id"}, strings.ToLower(name))
}

func checkParam(name string, values []string, names []string) error {
	shown := shownParam(name)
	switch {
	case !slices.Contains(names, name):
		return fmt.Errorf("the address of the bucket has %s, which is not known: known are %s", shown, strings.Join(names, ", "))
	case len(values) != 1 || values[0] == "" || strings.ContainsFunc(values[0], unicode.IsControl):
		return fmt.Errorf("the address of the bucket needs one value for %s", shown)
	case name != "endpoint":
		return nil
	}
	u, err := url.Parse(values[0])
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the endpoint of the bucket's address cannot be read: write https://HOST:PORT")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the endpoint of the bucket's address holds more than a host and a path, such as a credential: leave it out; " + findsThem)
	}
	return nil
}

// cleanPrefix refuses what is no path of plain names.
func cleanPrefix(p string) (string, error) {
	p = strings.Trim(p, "/")
	if p == "" {
		return "", nil
	}
	if path.Clean(p) != p || strings.HasPrefix(p, "..") || strings.ContainsFunc(p, unicode.IsControl) || strings.Contains(p, `\`) || !utf8.ValidString(p) {
		return "", errors.New("the prefix in the bucket's address is no path of plain names: no .., no empty names, no control characters")
	}
	if len(p) > maxPrefix {
		return "", fmt.Errorf("the prefix in the bucket's address has %d bytes: no more than %d", len(p), maxPrefix)
	}
	return p, nil
}

// String is the address in one form, whatever the order of its parameters.
func (a Address) String() string {
	u := url.URL{Scheme: a.scheme, Host: a.bucket, Path: "/" + a.prefix, RawQuery: a.params.Encode()}
	if a.prefix == "" {
		u.Path = ""
	}
	return u.String()
}

const validation = "response_checksum_validation"

// base is what gocloud opens: the bucket, without the prefix.
func (a Address) base() *url.URL {
	q := url.Values{}
	maps.Copy(q, a.params)
	if a.scheme == "s3" && !q.Has(validation) { // a digest of our own is compared; theirs is told of on standard error where it cannot be
		q.Set(validation, "when_required")
	}
	return &url.URL{Scheme: a.scheme, Host: a.bucket, RawQuery: q.Encode()}
}

// at names an object for people.
func (a Address) at(name string) string {
	return a.scheme + "://" + path.Join(a.bucket, a.prefix, name)
}
