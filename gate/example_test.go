package gate_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger/sqlite"
	"github.com/dogear/dogear/wire"
)

// Any Go client waits together with dogear and with every other client of the same ledger.
func ExampleTransport() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "a document")
	}))
	defer service.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx, cancel := context.WithCancel(context.Background())
	store, err := sqlite.Open(ctx, filepath.Join(dir, "state", "ledger.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	w, err := wire.New(wire.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	g, err := gate.New(gate.Config{Store: store, Wire: w, By: "my crawler"})
	if err != nil {
		log.Fatal(err)
	}
	running := make(chan error)
	go func() { running <- g.Run(ctx) }()

	client := &http.Client{Transport: &gate.Transport{Gate: g}}
	resp, err := client.Get(service.URL)
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(resp.StatusCode, string(body), err)

	cancel() // whoever waits gets an error; what was settled is written down
	fmt.Println(<-running)
	// Output:
	// 200 a document <nil>
	// <nil>
}
