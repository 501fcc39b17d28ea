package wire_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/dogear/dogear/wire"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	w, err := wire.New(wire.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	slot, err := w.Reserve(req.Context(), req.URL)
	if err != nil {
		log.Fatal(err) // nothing has left
	}
	// The permit is taken here.
	resp, err := slot.Send(req)
	if err != nil {
		log.Fatal(err) // its Fate says what surely became of the request
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err, wire.Received(resp))
	// Output: hello <nil> 5
}
