package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A client is a row of docs/clients.md.
type client struct {
	name     string
	version  func() (string, error)
	settings string // what is set, and what is as it comes
	// command is what stands behind `dogear drill run SCENARIO --`, in words that spaces part.
	command string
	// bearer is an option that gives a tool the token; empty: the program reads DRILL_TOKEN.
	bearer string
	// not has the scenarios that are not for it, and why.
	not map[string]string
}

const (
	pythonBin = "clients/installed/python/bin/python"
	goBin     = "clients/go/bin/" // where docs/clients.md has the Go programs
	graphHTTP = "it sends a token over https only"
)

// clients are the rows, in their order.
var clients = []client{
	{
		name:     "curl",
		version:  tool("curl"),
		settings: "`--parallel`, `--retry 5`, `--fail`",
		command:  "curl --parallel --parallel-max {workers} --retry 5 --fail --location --no-progress-meter --output-dir {out} --remote-name-all {urls}",
		bearer:   `--oauth2-bearer "$DRILL_TOKEN"`,
	},
	{
		name:     "wget",
		version:  tool("wget"),
		settings: "one after the other, `--tries 6`, `--waitretry 10`, `--retry-on-http-error 429,503`",
		command:  "wget --tries 6 --waitretry 10 --retry-on-http-error 429,503 --no-verbose --directory-prefix {out} --input-file {list}",
		bearer:   `--header "Authorization: Bearer $DRILL_TOKEN"`,
	},
	{
		name:     "wget, many at once",
		version:  tool("wget"),
		settings: "as above, a process for each address by `xargs --max-procs`",
		command:  "xargs --arg-file {list} --max-procs {workers} --max-args 1 wget --tries 6 --waitretry 10 --retry-on-http-error 429,503 --no-verbose --directory-prefix {out}",
		bearer:   `--header "Authorization: Bearer $DRILL_TOKEN"`,
	},
	{
		name:     "aria2c",
		version:  tool("aria2c"),
		settings: "`--max-tries 6`, `--retry-wait 5`",
		command:  "aria2c --max-concurrent-downloads {workers} --max-tries 6 --retry-wait 5 --console-log-level warn --summary-interval 0 --dir {out} --input-file {list}",
		bearer:   `--header "Authorization: Bearer $DRILL_TOKEN"`,
	},
	{
		name:     "requests",
		version:  python("requests", "urllib3"),
		settings: "threads over one session; `HTTPAdapter(max_retries=Retry(total=5, backoff_factor=1, status_forcelist=[429, 503], respect_retry_after_header=True))`",
		command:  pythonBin + " clients/python/requests_threads.py",
	},
	{
		name:     "httpx",
		version:  python("httpx", "httpx-retries"),
		settings: "asyncio tasks over one client; `RetryTransport(retry=Retry(total=5, backoff_factor=0.5))`",
		command:  pythonBin + " clients/python/httpx_tasks.py",
	},
	{
		name:     "Node fetch",
		version:  node("fetch-retry"),
		settings: "fetch-retry with `retries: 5`, `retryOn: [429, 503]`, `retryDelay` of 1 s, 2 s, 4 s, …",
		command:  "node clients/node/fetch.js",
	},
	{
		name:     "Octokit, throttling",
		version:  node("@octokit/core", "@octokit/plugin-throttling"),
		settings: "plugin-throttling; `onRateLimit` and `onSecondaryRateLimit` allow five retries. It looks for GitHub's own signs, which are there with one worker and with sixteen",
		command:  "node clients/node/octokit.js",
	},
	{
		name:     "Octokit, throttling and retry",
		version:  node("@octokit/core", "@octokit/plugin-throttling", "@octokit/plugin-retry"),
		settings: "as above, and plugin-retry as it comes",
		command:  "node clients/node/octokit.js --retry",
	},
	{
		name:     "Microsoft Graph",
		version:  node("@microsoft/microsoft-graph-client"),
		settings: "the default middleware, with its RetryHandler as it comes: three retries",
		command:  "node clients/node/graph.js",
		not:      map[string]string{"credentials": graphHTTP},
	},
	{
		name:     "Microsoft Graph, batches",
		version:  node("@microsoft/microsoft-graph-client"),
		settings: "`BatchRequestContent` of 20; items that were refused go into a new batch after the longest `Retry-After` among them, five times",
		command:  "node clients/node/graph-batch.js",
		not: map[string]string{
			"credentials": graphHTTP,
			"no hint":     "it reads the documents with two requests, which are not among the refused ones",
		},
	},
	{
		name:     "go-retryablehttp",
		version:  module("github.com/hashicorp/go-retryablehttp"),
		settings: "`NewClient()` as it comes: four retries, 1 s to 30 s",
		command:  goBin + "retryablehttp",
	},
	{
		name:     "Kiota",
		version:  module("github.com/microsoft/kiota-http-go"),
		settings: "`GetDefaultClient()` as it comes: three retries, 3 s and longer",
		command:  goBin + "kiota",
	},
	{
		name:     gated,
		version:  module("github.com/microsoft/kiota-http-go"),
		settings: "the same client, sending through `gate.Transport`",
		command:  goBin + "kiota -ledger {out}/.ledger/ledger.db",
	},
}

// gated is the row whose requests a ledger has too.
const gated = "Kiota over dogear's gate"

// A scenario is a column of docs/clients.md.
type scenario struct {
	name    string
	file    string   // or the name of a built-in one
	token   bool     // whether it needs one
	figures []string // that are shown, beside requests and delivered
	note    string   // what else is to be known of it
}

// scenarios are the columns: few, short, and telling.
var scenarios = []scenario{
	{name: "one worker", file: "clients/scenarios/one-worker.yaml", figures: []string{"throttled", "early", "late"},
		note: "Of " + gated + ", in every scenario, as many requests arrived, and as many were refused, as its ledger has."},
	{name: "sixteen workers", file: "clients/scenarios/sixteen-workers.yaml", figures: []string{"throttled", "early", "late", "burst"}},
	{name: "HTTP-date", file: "http-date", figures: []string{"throttled", "early", "late"}},
	{name: "no hint", file: "clients/scenarios/no-hint-to-some.yaml", figures: []string{"throttled", "rest"}},
	{name: "credentials", file: "credentials", token: true, figures: []string{"leaked"},
		note: "The other origin is another port of the same host."},
}

// line is the client's command in a scenario, as docs/clients.md has it.
func (c *client) line(s scenario) string {
	if c.bearer == "" || !s.token {
		return c.command
	}
	words := strings.Fields(c.command)
	for i, w := range words {
		if w == "curl" || w == "wget" || w == "aria2c" {
			words[i] += " " + c.bearer
		}
	}
	return fmt.Sprintf("sh -c '%s'", strings.Join(words, " "))
}

// args are the words of line, with the Go programs where they were built.
func (c *client) args(s scenario, bin string) []string {
	line := c.line(s)
	if script, ok := strings.CutPrefix(line, "sh -c "); ok {
		return []string{"sh", "-c", strings.Trim(script, "'")}
	}
	args := strings.Fields(line)
	if name, ok := strings.CutPrefix(args[0], goBin); ok {
		args[0] = filepath.Join(bin, name)
	}
	return args
}

var toVersion = regexp.MustCompile(`^.*?\d+(\.\d+)+`)

// tool tells a command's version by its first line.
func tool(name string) func() (string, error) {
	return func() (string, error) {
		line, err := firstLine(name, "--version")
		return toVersion.FindString(line), err
	}
}

func python(packages ...string) func() (string, error) {
	return func() (string, error) {
		return firstLine(pythonBin, append([]string{"-c",
			"import sys, platform, importlib.metadata as m; print(*[p + ' ' + m.version(p) for p in sys.argv[1:]], 'Python ' + platform.python_version(), sep=', ')",
		}, packages...)...)
	}
}

func node(packages ...string) func() (string, error) {
	return func() (string, error) {
		return firstLine("node", append([]string{"-e",
			"const v = p => require('./clients/node/node_modules/' + p + '/package.json').version;" +
				"console.log(process.argv.slice(1).map(p => p + ' ' + v(p)).concat('Node ' + process.versions.node).join(', '))",
		}, packages...)...)
	}
}

func module(path string) func() (string, error) {
	return func() (string, error) {
		return firstLine("go", "-C", "clients/go", "list", "-m", path)
	}
}

// firstLine is what a command says first; it runs at the root of the repository.
func firstLine(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}
