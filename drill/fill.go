package drill

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A place is what a command and its environment are told of a drill.
type place struct {
	scenario      string
	base          string   // of the first quota
	urls          []string // of all documents
	list, out     string   // a file of the addresses, one a line; an empty folder
	workers       int
	clients       int
	tls, token    bool   // whether the service has a certificate, wants a token
	ca, tokenFile string // files that are always there, and empty where the service has none
}

// words are the placeholders. Whatever else stands in braces is the command's own: curl and
// find have meanings for them.
var words = regexp.MustCompile(`\{\{\w+\}\}|\{(?:list|urls|base|out|workers|client|ca|token_file)\}`)

// command fills the placeholders of a command for one client, numbered from 1.
func (p *place) command(args []string, client int) []string {
	values := map[string]string{
		"{list}": p.list, "{urls}": strings.Join(p.urls, " "), "{base}": p.base, "{out}": p.out,
		"{workers}": strconv.Itoa(p.workers), "{client}": strconv.Itoa(client), "{ca}": p.ca, "{token_file}": p.tokenFile,
	}
	var out []string
	for _, arg := range args {
		if arg == "{urls}" {
			out = append(out, p.urls...)
			continue
		}
		out = append(out, words.ReplaceAllStringFunc(arg, func(word string) string {
			if v, ok := values[word]; ok {
				return v
			}
			return word // {{list}} is some template's own
		}))
	}
	return out
}

// environ is ours with what the drill tells in place of what an outer drill told.
func (p *place) environ(client int, token string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "DRILL_") {
			env = append(env, v)
		}
	}
	env = append(env,
		"DRILL_SCENARIO="+p.scenario,
		"DRILL_BASE="+p.base,
		"DRILL_LIST="+p.list,
		"DRILL_OUT="+p.out,
		"DRILL_WORKERS="+strconv.Itoa(p.workers),
		"DRILL_CLIENT="+strconv.Itoa(client),
		"DRILL_CLIENTS="+strconv.Itoa(p.clients),
	)
	if p.tls {
		env = append(env, "DRILL_CA="+p.ca)
	}
	if p.token {
		env = append(env, "DRILL_TOKEN="+token, "DRILL_TOKEN_FILE="+p.tokenFile)
	}
	return env
}
