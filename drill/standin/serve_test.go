package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A request came when its first byte came, though its head was slow.
func TestStampsTheFirstByte(t *testing.T) {
	s := start(t, Config{})
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	answered := func(method, path string) {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	const head, body, idle = 400 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond
	var sent []time.Time
	for i := range 3 { // on one connection, with a pause before each
		time.Sleep(idle)
		sent = append(sent, time.Now())
		io.WriteString(c, "P")
		time.Sleep(head)
		fmt.Fprintf(c, "OST /doc/%d HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo", i+1)
		time.Sleep(body) // its body must not be taken for the next request
		io.WriteString(c, "dy")
		answered("POST", "/doc")
	}
	time.Sleep(idle)
	sent = append(sent, time.Now())
	io.WriteString(c, "GET /doc/4 HTTP/1.1\r\nHost: x\r\n\r\n")
	answered("GET", "/doc/4")
	for i, a := range rows(t, s, 4) {
		if d := a.At.Sub(sent[i]); d < -time.Millisecond || d > head*3/4 {
			t.Errorf("request %d came %v after its first byte was sent", i+1, d)
		}
		if i < 3 && a.Began.Sub(a.At) < head {
			t.Errorf("request %d was answered %v after it came", i+1, a.Began.Sub(a.At))
		}
	}
}

// Each row is written once, when its request has ended, whatever way it ended.
func TestRowsAreWrittenOnce(t *testing.T) {
	var out *bytes.Buffer
	both(t, func() Config {
		out = &bytes.Buffer{}
		j := journal.New(out)
		j.Begin(journal.Head{StartedAt: time.Now()})
		return Config{Journal: j, Rules: []Rule{Every(7, Cut(10)), Every(5, Reset(10)), Once(6, Longer(3)),
			On("/doc/3", Slow(500, time.Millisecond)), Every(4, Throttle(429, Seconds, time.Second)),
			Once(20, func(*Exchange) bool { panic(http.ErrAbortHandler) })}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for n := range 25 {
					_, _, _ = get(t, c, s.URL(fmt.Sprintf("/doc/%d", n)))
				}
			})
		}
		all.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		rec, err := journal.Parse(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		arrived := s.Journal.Arrivals(nil) // a client repeats what was cut before its head
		if len(arrived) < 200 || len(rec.Arrivals) != len(arrived) {
			t.Fatalf("%d rows written, %d requests arrived", len(rec.Arrivals), len(arrived))
		}
		for i, a := range rec.Arrivals {
			if a.N != i+1 || a.End == "" || a.Ended.IsZero() || a.At.After(a.Ended) || a.Whole && a.End != journal.Sent {
				t.Errorf("row %d: %+v", i+1, a)
			}
		}
	})
}

// What is told before a request arrives is in its row, for its own key alone.
func TestTold(t *testing.T) {
	both(t, func() Config {
		return Config{Key: ByHeader("X-Tenant"), Rules: []Rule{On("/doc/1", Throttle(429, Seconds, 2*time.Second))}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		for _, tenant := range []string{"a", "a", "b"} {
			req, _ := http.NewRequest(http.MethodGet, s.URL("/doc/1"), nil)
			req.Header.Set("X-Tenant", tenant)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			rows(t, s, s.Journal.Len())
		}
		all := rows(t, s, 3)
		if all[0].Told != nil || all[2].Told != nil || all[2].Key != "b" {
			t.Errorf("first %+v, of another key %+v: nobody had told them", all[0], all[2])
		}
		w := all[1].Told
		if w == nil || w.N != 1 || !w.Sent.Equal(all[0].Sent) || !w.Until.Equal(all[0].Until) {
			t.Errorf("second: told %+v, want what %+v said", w, all[0])
		}
	})
}

func TestRanges(t *testing.T) {
	both(t, func() Config { return Config{Digests: true} }, func(t *testing.T, s *Service, c *http.Client) {
		size := int64(Size(1))
		for i, tt := range []struct {
			asked       string
			status      int
			from, bytes int64
			whole       bool
		}{
			{"bytes=100-", 206, 100, size - 100, false}, {"bytes=0-", 206, 0, size, true}, {"bytes=-10", 206, size - 10, 10, false},
			{"bytes=0-9,20-29", 200, 0, size, true}, {"bytes=99999-", 416, 0, -1, false},
		} {
			req, _ := http.NewRequest(http.MethodGet, s.URL("/doc/1"), nil)
			req.Header.Set("Range", tt.asked)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != tt.status {
				t.Errorf("%s: %v, %v", tt.asked, resp, err)
			}
			if tt.status < 300 && (!bytes.Equal(body, Body(1)[tt.from:tt.from+tt.bytes]) || resp.Header.Get("Repr-Digest") != digest(Body(1))) {
				t.Errorf("%s: %d bytes, digest %s", tt.asked, len(body), resp.Header.Get("Repr-Digest"))
			}
			a := rows(t, s, i+1)[i]
			if a.From != tt.from || tt.bytes >= 0 && a.Bytes != tt.bytes || a.Whole != tt.whole || a.Size != size {
				t.Errorf("%s: journal %+v", tt.asked, a)
			}
		}
		if resp, err := c.Head(s.URL("/doc/1")); err != nil || resp.ContentLength != size {
			t.Errorf("HEAD: %v, %v", resp, err)
		}
		if a := rows(t, s, 6)[5]; a.Whole || a.Bytes != 0 {
			t.Errorf("HEAD: journal %+v", a)
		}
	})
}

func TestValidators(t *testing.T) {
	for v, want := range map[Validators][2]bool{ETagOnly: {true, false}, ModifiedOnly: {false, true}, BothValidators: {true, true}, NoValidators: {}} {
		s := start(t, Config{Validators: v})
		c := client(t, nil)
		resp, _, err := get(t, c, s.URL("/doc/70"))
		if err != nil {
			t.Fatal(err)
		}
		tag, modified := resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
		if tag != "" != want[0] || modified != "" != want[1] || want[1] && modified != Modified(70, 0).Format(http.TimeFormat) {
			t.Errorf("%d: ETag %q, Last-Modified %q", v, tag, modified)
		}
		if resp.Header.Get("Repr-Digest") != "" {
			t.Errorf("%d: a digest that nobody asked for", v)
		}
		s.Change(70)
		for name, value := range map[string]string{"If-None-Match": tag, "If-Modified-Since": modified} {
			if value == "" {
				continue
			}
			req, _ := http.NewRequest(http.MethodGet, s.URL("/doc/70"), nil)
			req.Header.Set(name, value)
			if resp, err := c.Do(req); err != nil || resp.StatusCode != 200 {
				t.Errorf("%d: %s %s after a change: %v, %v", v, name, value, resp, err)
			}
			req.URL.Path = "/doc/71"
			req.Header.Set(name, map[string]string{"If-None-Match": ETag(71, Size(71), 0), "If-Modified-Since": Modified(71, 0).Format(http.TimeFormat)}[name])
			if resp, err := c.Do(req); err != nil || resp.StatusCode != 304 {
				t.Errorf("%d: %s without a change: %v, %v", v, name, resp, err)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A journal that cannot be written is the service's error.
func TestJournalFails(t *testing.T) {
	s, err := Start(Config{Journal: journal.New(full{})})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(t, client(t, nil), s.URL("/doc/1")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Close: %v", err)
	}
}

// Two quotas can write into one journal, each with its own waits.
func TestSharedJournal(t *testing.T) {
	var out bytes.Buffer
	j := journal.New(&out)
	cert, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, Config{TLS: true, Certificate: cert, Quota: "a", First: 1, Last: 5, Journal: j, Rules: []Rule{Throttle(429, Seconds, time.Minute)}})
	b := start(t, Config{TLS: true, Certificate: cert, Quota: "b", First: 6, Last: 9, Journal: j})
	c := client(t, cert.PEM())
	for _, url := range []string{a.URL("/doc/1"), b.URL("/doc/6"), b.URL("/doc/1"), a.URL("/doc/2")} {
		if _, _, err := get(t, c, url); err != nil {
			t.Fatal(err)
		}
		rows(t, a, j.Len())
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var row journal.Arrival
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %d %v", row.Quota, row.Document, row.Status, row.Told != nil))
	}
	if got, want := strings.Join(got, ", "), "a 1 429 false, b 6 200 false, b 0 404 false, a 2 429 true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
