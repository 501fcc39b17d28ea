package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--rate", "1", "--burst", "1", "--documents", "2"}, w) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("first line %q, %v", line, err)
	}
	for _, want := range []int{200, 429} {
		resp, err := http.Get(strings.TrimSpace(line) + "/doc/1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || want == 429 && resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%d, Retry-After %q; want %d", resp.StatusCode, resp.Header.Get("Retry-After"), want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
