package scenario

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// TestDo: each do does what it says, to what is chosen and to nothing else.
func TestDo(t *testing.T) {
	for _, c := range []struct {
		rule    string
		head    string // further keys of the scenario
		status  int
		fault   string
		refused bool
		whole   bool
		says    string // in the body
	}{
		{rule: "do: throttle, wait: 2s", status: 429, refused: true},
		{rule: "do: throttle, status: 403, body: 'in {seconds}', wait: 2s, headers: {}", status: 403, refused: true, says: "in 2"},
		{rule: "do: status, status: 500", status: 500, fault: "status"},
		{rule: "do: status, status: 418, body: tea, type: text/html", status: 418, fault: "status", says: "tea"},
		{rule: "do: cut", status: 200, fault: "cut"},
		{rule: "do: cut, bytes: 0", status: 200, fault: "cut"},
		{rule: "do: reset, bytes: 10", status: 200, fault: "reset"},
		{rule: "do: hang", status: 200, fault: "hang"},
		{rule: "do: slow, pause: 1ms", status: 200, fault: "slow", whole: true},
		{rule: "do: short", status: 200, fault: "short"},
		{rule: "do: long", status: 200, fault: "long", whole: true},
		{rule: "do: digest", head: "digests: true\n", status: 200, fault: "digest"},
		{rule: "do: login", status: 200, fault: "login", says: "<form"},
		{rule: "do: error", status: 200, fault: "error", says: `{"error":{"code":"internalError"`},
		{rule: "do: error, body: oops", status: 200, fault: "error", says: "oops"},
		{rule: "do: change", status: 200, fault: "change", whole: true},
		{rule: "do: deny", status: 403, fault: "deny"},
		{rule: "do: gone", status: 404, fault: "gone"},
		{rule: "do: delay, pause: 1ms", status: 200, fault: "delay", whole: true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			st := start(t, "about: x\ndocuments: 3\n"+c.head+"quotas: [{rules: [{documents: 2, requests: 1, "+c.rule+"}]}]\n", Options{})
			client := &http.Client{Timeout: 200 * time.Millisecond, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			var bodies []string
			for _, d := range st.List() {
				bodies = append(bodies, fetch(client, d.URL))
			}
			ended(t, st, 3)
			rows := st.Journal.Arrivals(nil)
			if a := rows[1]; a.Status != c.status || a.Fault != c.fault || (a.Refused != "") != c.refused || a.Whole != c.whole || !strings.Contains(bodies[1], c.says) {
				t.Errorf("got %d, fault %q, refused %q, whole %v, %q", a.Status, a.Fault, a.Refused, a.Whole, short(bodies[1]))
			}
			for _, i := range []int{0, 2} {
				if a := rows[i]; !a.Whole || a.Fault != "" {
					t.Errorf("document %d: whole %v, fault %q", a.Document, a.Whole, a.Fault)
				}
			}
		})
	}
}

// fetch returns what there is of a body.
func fetch(client *http.Client, url string) string {
	resp, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // a body that ends early is what is asked for
	return string(b)
}

// ended waits until so many answers are written down.
func ended(t *testing.T, st *Stand, n int) {
	t.Helper()
	for range 500 {
		if rows := st.Journal.Arrivals(func(a journal.Arrival) bool { return !a.Ended.IsZero() }); len(rows) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the journal has not got %d answers in 5 s", n)
}

// TestSelect: rules choose by document, request, arrival, time and count.
func TestSelect(t *testing.T) {
	for _, c := range []struct {
		choose string
		want   string // documents that are chosen, of two rounds
	}{
		{"documents: '2,4-5'", "2 4 5 2 4 5"},
		{"requests: 2-", "1 2 3 4 5"},
		{"arrivals: '3-4,9-'", "3 4 4 5"},
		{"every: 3", "3 1 4"},
		{"after: 1h", ""},
		{"until: 1h, requests: 1", "1 2 3 4 5"},
		{"documents: 2-4, requests: 2, every: 2", "3"},
	} {
		st := start(t, "about: x\ndocuments: 5\nquotas: [{rules: [{"+c.choose+", do: status, status: 500}]}]\n", Options{})
		for range 2 {
			for _, d := range st.List() {
				fetch(http.DefaultClient, d.URL)
			}
		}
		ended(t, st, 10)
		var got []string
		for _, a := range st.Journal.Arrivals(nil) {
			if a.Status == 500 {
				got = append(got, fmt.Sprint(a.Document))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.choose, got, c.want)
		}
	}
}

// TestLimits: each kind of limit lets through what it says, of eight requests.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limit string
		want  int // that are served
		until time.Duration
	}{
		{"{window: 3, per: 1h}", 3, time.Hour},
		{"{sliding: 3, per: 1h}", 3, time.Hour},
		{"{bucket: 1, per: 1h, burst: 3}", 3, time.Hour},
		{"{bucket: 3, per: 1h}", 3, 20 * time.Minute},
		{"{sliding: 3, per: 1h, refused: counted}", 3, time.Hour},
		{"{bucket: 1, per: 1h, burst: 3, refused: counted}", 3, 4 * time.Hour}, // three fines at most
		{"{leaky: 10, per: 1s, queue: 1}", 2, time.Second},
		{"{concurrency: 3, takes: 300ms}", 3, 7 * time.Second},
		{"{window: 3, per: 1s, ban: 1h}", 3, time.Hour},
		{"{window: 1, per: 1h, key: header X-N}", 4, time.Hour},
		{"{window: 1, per: 1h, key: credential}", 4, time.Hour},
	} {
		refusal := ""
		if strings.Contains(c.limit, "concurrency") {
			refusal = "refusal: {wait: 7s}, "
		}
		st := start(t, "about: x\ndocuments: 8\nquotas: [{"+refusal+"limit: "+c.limit+"}]\n", Options{})
		var g sync.WaitGroup
		for i, d := range st.List() {
			r, err := http.NewRequest("GET", d.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-N", fmt.Sprint(i%4))
			r.Header.Set("Authorization", fmt.Sprint(i%4))
			g.Go(func() {
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		g.Wait()
		ended(t, st, 8)
		served, latest := 0, time.Duration(0)
		for _, a := range st.Journal.Arrivals(nil) {
			if a.Status == 200 {
				served++
			} else if a.Refused != journal.ByLimit {
				t.Errorf("%s: refused %q with %d", c.limit, a.Refused, a.Status)
			}
			latest = max(latest, a.Until.Sub(a.At))
		}
		if served != c.want || latest < c.until-5*time.Second || latest > c.until+5*time.Second {
			t.Errorf("%s: %d were served and the longest wait was %v, want %d and about %v", c.limit, served, latest, c.want, c.until)
		}
	}
}

// TestRefusal: what is refused says what the scenario says.
func TestRefusal(t *testing.T) {
	const text = `about: x
documents: 2
quotas:
  - limit: {window: 1, per: 1h}
    refusal:
      status: 503
      headers: {Retry-After: ["{seconds:5}", soon, "{seconds}"], X-Empty: ""}
      body: '{"wait":{ms}}'
      type: application/json
      wait: 90s
      skew: -2h
`
	for _, valid := range []bool{true, false} {
		st := start(t, text+fmt.Sprintf("      valid: %v\n", valid), Options{})
		fetch(http.DefaultClient, st.List()[0].URL)
		resp, err := http.Get(st.List()[1].URL)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 503 || string(b) != `{"wait":90000}` || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %d, %q, %v, %v", resp.StatusCode, b, resp.Header, err)
		}
		if got, want := resp.Header.Values("Retry-After"), []string{"5", "soon", "90"}; !slices.Equal(got, want) {
			t.Errorf("Retry-After: got %q, want %q", got, want)
		}
		if _, there := resp.Header["X-Empty"]; !there {
			t.Errorf("X-Empty is missing in %v", resp.Header)
		}
		date, err := http.ParseTime(resp.Header.Get("Date"))
		if behind := time.Since(date); err != nil || behind < 2*time.Hour-5*time.Second || behind > 2*time.Hour+time.Minute {
			t.Errorf("Date is %v behind, want 2h", behind)
		}
		ended(t, st, 2)
		if until := st.Journal.Arrivals(nil)[1].Until; until.IsZero() == valid {
			t.Errorf("valid: %v: the journal has until %v", valid, until)
		}
	}
}
