package wire

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"testing"

	"golang.org/x/sys/unix"
)

// A request that was given up before its answer resets its connection: what the service's side
// has not acknowledged is not sent to it again, when a network that was cut is whole.
func TestGivenUpIsReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	because := errors.New("the deadline of the run")
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { cancel(because) },
	})
	w := newWire(t, Config{})
	address := "http://" + l.Addr().String() + "/"
	_, err = reserve(t, w, address).Send(get(t, ctx, address))
	wantError(t, err, Unknown, because)

	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	polled := []unix.PollFd{{Events: unix.POLLRDHUP}}
	err = raw.Control(func(fd uintptr) {
		polled[0].Fd = int32(fd)
		if _, err := unix.Poll(polled, 10_000); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := polled[0].Revents; got&unix.POLLHUP == 0 { // after a FIN this side could still write
		t.Errorf("events %#x, want a connection that was reset", got)
	}
}
