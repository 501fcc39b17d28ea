// Command cmd runs the tests' stand-in service by itself. Its address is the first line on
// standard output; it ends with a signal.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("standin", flag.ContinueOnError)
	cfg := standin.Config{}
	flags.StringVar(&cfg.Listen, "listen", "127.0.0.1:0", "host and port")
	flags.StringVar(&cfg.Root, "root", "", "serve the files of a `folder`")
	flags.IntVar(&cfg.Last, "documents", 0, "serve /doc/1 to /doc/`N`")
	rate := flags.Float64("rate", 0, "requests a second; more are answered 429 with Retry-After")
	burst := flags.Int("burst", 1, "requests that are served at once")
	file := flags.String("journal", "", "write one JSON object for each request to a `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rate > 0 {
		cfg.Limit = standin.Bucket(*rate, *burst)
	}
	if *file != "" {
		f, err := os.Create(*file)
		if err != nil {
			return err
		}
		defer f.Close()
		cfg.Journal = journal.New(f)
	}
	s, err := standin.Start(cfg)
	if err != nil {
		return err
	}
	s.Journal.Begin(journal.Head{Scenario: "standin", StartedAt: time.Now(), Documents: cfg.Last,
		Quotas: []journal.Quota{{Origin: s.URL(""), First: 1, Last: cfg.Last}}})
	fmt.Fprintln(stdout, s.URL(""))
	<-ctx.Done()
	return s.Close()
}
