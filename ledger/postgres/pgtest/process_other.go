//go:build !linux

package pgtest

import "os/exec"

func unprivileged(*exec.Cmd) {}

func own(string) error { return nil }

// run starts a command and closes exited when it has ended.
func run(cmd *exec.Cmd, exited chan struct{}) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}()
	return nil
}
