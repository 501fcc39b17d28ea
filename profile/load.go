package profile

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

//go:embed services/*.yaml
var services embed.FS

// A file is a shipped profile, read when it is first asked for: most runs need one, and all
// of them take a while.
type file struct {
	name string
	text []byte
	read func() *Profile
}

var shipped = sync.OnceValue(func() []file {
	entries, err := services.ReadDir("services")
	if err != nil {
		panic(err)
	}
	var list []file
	for _, e := range entries {
		text, err := services.ReadFile("services/" + e.Name())
		if err != nil {
			panic(err)
		}
		list = append(list, file{strings.TrimSuffix(e.Name(), ".yaml"), text, sync.OnceValue(func() *Profile {
			p, err := Parse(e.Name(), text)
			if err != nil { // a test holds that there is none
				panic(fmt.Sprintf("a shipped profile is wrong: %v", err))
			}
			return p
		})})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list
})

// Names are the names of the shipped profiles, sorted.
func Names() []string {
	var names []string
	for _, f := range shipped() {
		names = append(names, f.name)
	}
	return names
}

// Get is the shipped profile of that name.
func Get(name string) (*Profile, bool) {
	for _, f := range shipped() {
		if f.name == name {
			return f.read(), true
		}
	}
	return nil, false
}

// ForHost is the shipped profile of the service at a host; the port does not matter. Of
// several the one that says most of the host's name.
func ForHost(host string) (*Profile, bool) {
	host = bare(host)
	labels := strings.Split(host, ".")
	if len(labels) < 2 {
		return nil, false
	}
	end := []byte(strings.Join(labels[len(labels)-2:], ".")) // patterns write it out
	var found *Profile
	best := ""
	for _, f := range shipped() {
		if !bytes.Contains(f.text, end) {
			continue
		}
		for _, h := range f.read().Hosts {
			if hostMatches(h, host) && better(h, best) {
				found, best = f.read(), h
			}
		}
	}
	return found, found != nil
}

// better reports whether a pattern says more than another.
func better(a, b string) bool {
	if stars := strings.Count(a, "*") - strings.Count(b, "*"); b != "" && stars != 0 {
		return stars < 0
	}
	return len(a) > len(b)
}

// Load reads a user's own profile. A mistake in it matches [*Error]; there may be several,
// joined in the order of the file.
func Load(path string) (*Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a profile; name is what its mistakes are told under. They match [*Error]; there
// may be several, joined in the order of the file.
func Parse(name string, data []byte) (*Profile, error) {
	d := &decoder{document: &document{name: name}, p: &Profile{},
		sources: map[string]string{}, cited: map[string]bool{}, parts: map[string]bool{}}
	if root := d.parse(data); d.errs == nil {
		d.profile(root)
	}
	if d.errs != nil {
		return nil, d.err()
	}
	return d.p, nil
}
