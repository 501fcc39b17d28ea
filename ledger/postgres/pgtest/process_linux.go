package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
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
