package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// A careless client believes every 200 and keeps no wait.
type careless struct {
	name    string
	tries   int           // of a document
	timeout time.Duration // of a request; zero: none
	resume  bool          // goes on at a cut, whatever the version is now
}

// Between them they do wrong what the built-in scenarios look for.
var carelessOnes = []careless{
	{name: "rude", tries: 100},
	{name: "splicing", tries: 3, resume: true},
	{name: "hasty", tries: 2, timeout: time.Second},
	{name: "timid", tries: 1},
}

// TestBuiltinTells: each built-in scenario fails one of the careless clients at least.
func TestBuiltinTells(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var g sync.WaitGroup
	for _, name := range Builtin() {
		g.Go(func() {
			var passed []string
			for _, c := range carelessOnes {
				failed, err := c.fails(name)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if failed != "" {
					t.Logf("%-18s %s: %s", name, c.name, failed)
					return
				}
				passed = append(passed, c.name)
			}
			t.Errorf("%s passes %s: it tells nothing", name, strings.Join(passed, ", "))
		})
	}
	g.Wait()
}

// fails runs a scenario, and returns why the client fails.
func (c careless) fails(name string) (string, error) {
	s, err := Load(name)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	st, err := s.Start(Options{Journal: &b})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	c.readAll(ctx, st, slices.Repeat(st.List(), s.Clients), s.Workers)
	if ctx.Err() != nil {
		st.Journal.Note(journal.Event{Event: "timeout", At: time.Now(), Client: 1})
	}
	st.Journal.Note(journal.Event{Event: "ended", At: time.Now(), Client: 1})
	if err := st.Close(); err != nil {
		return "", err
	}
	rec, err := journal.Parse(&b)
	if err != nil {
		return "", err
	}
	f := judge.Judge(rec, judge.DefaultSlack)
	for _, expect := range s.Expect {
		a, err := judge.ParseAssert(expect)
		if err != nil {
			return "", err
		}
		if check := a.Check(f, rec, judge.DefaultSlack); !check.Pass {
			return fmt.Sprintf("%s: %s", check.Assert, check.Why), nil
		}
	}
	return "", nil
}

func (c careless) readAll(ctx context.Context, st *Stand, docs []Document, workers int) {
	token := st.Token()
	client := &http.Client{
		Timeout: c.timeout, Transport: &http.Transport{MaxIdleConnsPerHost: workers},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			r.Header = via[0].Header.Clone()
			return nil
		},
	}
	defer client.CloseIdleConnections()
	queue := make(chan Document)
	var g sync.WaitGroup
	for range workers {
		g.Go(func() {
			for d := range queue {
				c.read(ctx, client, d, token)
			}
		})
	}
	for _, d := range docs {
		queue <- d
	}
	close(queue)
	g.Wait()
}

func (c careless) read(ctx context.Context, client *http.Client, d Document, token string) {
	have := int64(0)
	for range c.tries {
		r, err := http.NewRequestWithContext(ctx, "GET", d.URL, nil)
		if err != nil {
			panic(err) // the address is the service's own
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if c.resume && have > 0 {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		}
		resp, err := client.Do(r)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			continue
		}
		n, err := io.Copy(io.Discard, resp.Body)
		err = errors.Join(err, resp.Body.Close())
		switch resp.StatusCode {
		case http.StatusOK, http.StatusPartialContent:
			if err == nil {
				return
			}
			have += n
		}
	}
}
