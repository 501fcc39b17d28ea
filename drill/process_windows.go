package drill

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup starts a command in a process group of its own: a Ctrl-C at the terminal is ours
// alone.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// stopGroup does nothing: no signal of Windows asks a command to end.
func stopGroup(*os.Process) {}

// killGroup ends a command and what it has started.
func killGroup(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	_ = p.Kill()
}

// sweepGroup does nothing: who was started by a command that is gone cannot be found.
func sweepGroup(*os.Process) {}

// exitCode is how a command ended.
func exitCode(s *os.ProcessState) int { return s.ExitCode() }
