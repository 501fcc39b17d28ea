// Command kiota reads the drill's documents with the http.Client of Microsoft's Kiota, whose
// retry handler is as it comes. With -ledger FILE the same client sends through dogear's
// gate: its retry handler goes on as before, and its requests wait together.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	kiota "github.com/microsoft/kiota-http-go"

	"github.com/dogear/dogear/clients/go/drill"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger/sqlite"
	"github.com/dogear/dogear/wire"
)

func main() {
	ledger := flag.String("ledger", "", "send through a gate with this `file` as its ledger")
	flag.Parse()
	client := kiota.GetDefaultClient()
	if *ledger == "" {
		os.Exit(drill.Read(client.Do))
	}
	var code int
	err := gated(*ledger, func(t http.RoundTripper) {
		client.Transport = kiota.NewCustomTransportWithParentTransport(t)
		code = drill.Read(client.Do)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// gated calls read with a transport that waits for the gate.
func gated(ledger string, read func(http.RoundTripper)) error {
	if err := os.MkdirAll(filepath.Dir(ledger), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, err := sqlite.Open(ctx, ledger, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	w, err := wire.New(wire.Config{})
	if err != nil {
		return err
	}
	defer w.Close()
	g, err := gate.New(gate.Config{Store: store, Wire: w, By: "kiota"})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	read(&gate.Transport{Gate: g})
	cancel() // what was settled is written down
	return <-ran
}
