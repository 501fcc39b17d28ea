//go:build unix

package drill

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own: what it starts is ended with it,
// and a Ctrl-C at the terminal is ours alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopGroup asks a command and what it has started to end.
func stopGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup ends a command and what it has started. It says nothing where they are gone.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// sweepGroup ends what a command that is gone has left behind.
func sweepGroup(p *os.Process) { killGroup(p) }

// exitCode is how a command ended: as shells say it, 128 and the signal that ended it.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
