package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// unprivileged has a command run as somebody that PostgreSQL accepts, and end with this
// process, however that ends.
func unprivileged(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		uid, gid := nobody()
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
}

// own gives a folder to who the server runs as.
func own(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid := nobody()
	return os.Chown(folder, int(uid), int(gid))
}

func nobody() (uid, gid uint32) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return uint32(uid), uint32(gid)
		}
	}
	return 65534, 65534
}

// Hang stops the server where it stands, as a disk that does not answer does: it takes
// connections and says nothing. What it returns lets it go on.
func (c *Cluster) Hang(t testing.TB) (goOn func()) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", c.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{c.process.Pid}
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			pids = append(pids, pid)
		}
	}
	goOn = sync.OnceFunc(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	})
	t.Cleanup(goOn)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
	return goOn
}

// run starts a command and closes exited when it has ended. The kernel ends it with the
// thread that started it, so that one is kept.
func run(cmd *exec.Cmd, exited chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(exited)
		}
	}()
	return <-started
}
