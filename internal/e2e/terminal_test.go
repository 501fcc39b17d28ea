package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/dogear/dogear/drill/standin"
)

// atTerminal runs dogear at a terminal of its own and types an answer.
func (u *user) atTerminal(answer string, args ...string) (output string, code int) {
	u.t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		u.t.Skip("no script(1) to make a terminal with")
	}
	quoted := binary
	for _, a := range args {
		quoted += " '" + a + "'"
	}
	cmd := exec.Command(script, "-qec", quoted, "/dev/null")
	cmd.Dir = u.dir
	cmd.Env = append(environment(), "XDG_STATE_HOME="+u.state, "GORACE=atexit_sleep_ms=0", "TERM=xterm")
	cmd.Stdin = strings.NewReader(answer)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// W6: at a terminal a source without a confirmed scope is asked about before the first
// request, and who answered, and how, is kept.
func TestW6AskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{})
	yes := newUser(t)
	yes.list("l.txt", s, 3)
	out, code := yes.atTerminal("y\n", "read", "l.txt", "-o", "out")
	if code != 0 || !strings.Contains(out, "host:"+s.Addr()) || !strings.Contains(out, "3 of 3 documents done") {
		t.Errorf("yes: exit code %d:\n%s", code, out)
	}
	if scopes := yes.must(0, "scopes", "--json").stdout; !strings.Contains(scopes, `"confirmed_source":"answered at the terminal"`) {
		t.Errorf("scopes: %s", scopes)
	}
	arrived := s.Journal.Len()
	no := newUser(t)
	no.list("l.txt", s, 3)
	if out, code := no.atTerminal("n\n", "read", "l.txt", "-o", "out"); code != 78 || s.Journal.Len() != arrived {
		t.Errorf("no: exit code %d, %d requests sent:\n%s", code, s.Journal.Len()-arrived, out)
	}
}
