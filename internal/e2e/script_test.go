package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dogear/dogear/drill/standin"
)

// TestScripts runs the stories of testdata. Beside testscript's own commands they know
//
//	serve [-slow] [-429 SECONDS] [-hang]  a stand-in; $URL and $HOST are where it is
//	dogear CODE args…             run dogear, which must end with CODE
//	expand FILE…                  fill $URL and the like into files
//	change N                      give document N another version
//	arrived N                     N requests have arrived in all
//	await N                       wait until N requests have arrived
//	free                          serve without any rule from now on
//	mode OCTAL FILE…              change the mode of files
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Vars = slices.DeleteFunc(e.Vars, func(v string) bool { return strings.HasPrefix(v, "DOGEAR_") })
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			e.Setenv("LEDGER", filepath.Join(e.WorkDir, ".state", "dogear", "ledger.db"))
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Values[service{}] = new(*standin.Service)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": cmdServe, "dogear": cmdDogear, "expand": cmdExpand, "change": cmdChange, "arrived": cmdArrived,
			"await": cmdAwait, "free": cmdFree, "mode": cmdMode,
		},
		RequireUniqueNames: true,
	})
}

// service is the key of a script's stand-in.
type service struct{}

func standinOf(ts *testscript.TestScript) *standin.Service {
	return *ts.Value(service{}).(**standin.Service)
}

func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	var cfg standin.Config
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-slow":
			cfg.Rules = append(cfg.Rules, standin.Delay(time.Second))
		case "-hang":
			cfg.Rules = append(cfg.Rules, standin.Hang)
		case "-429":
			i++
			n, err := strconv.Atoi(args[i])
			ts.Check(err)
			cfg.Rules = append(cfg.Rules, standin.Throttle(429, standin.Seconds, time.Duration(n)*time.Second))
		default:
			ts.Fatalf("serve: what is %s?", args[i])
		}
	}
	s, err := standin.Start(cfg)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	*ts.Value(service{}).(**standin.Service) = s
	ts.Setenv("URL", s.URL(""))
	ts.Setenv("HOST", s.Addr())
}

func cmdDogear(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: dogear CODE args…")
	}
	err = ts.Exec("dogear", args[1:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

func cmdChange(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	standinOf(ts).Change(n)
}

func cmdArrived(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(standinOf(ts).Journal.Len()); got != args[0] {
		ts.Fatalf("%s requests arrived, want %s", got, args[0])
	}
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for end := time.Now().Add(patience); standinOf(ts).Journal.Len() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%d requests arrived, waited for %d", standinOf(ts).Journal.Len(), n)
		}
	}
}

func cmdFree(ts *testscript.TestScript, _ bool, _ []string) { standinOf(ts).SetRules() }

func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	mode, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chmod(ts.MkAbs(name), os.FileMode(mode)))
	}
}
