// Command dogear reads many documents from a service that limits its readers, and keeps its
// place. Run it without arguments for help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/dogear/dogear/internal/cli"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	abort := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // the first signal finishes what is in flight, the second aborts it
		cancel(&cli.SignalError{Signal: <-signals})
		<-signals
		close(abort)
	}()
	os.Exit(cli.Main(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Abort: abort,
	}))
}
