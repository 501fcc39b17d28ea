package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUp bounds how long the kernel sends again what nobody acknowledges: 30 s.
func giveUp(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000) // else it is longer
	})
}
