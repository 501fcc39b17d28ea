package reader_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
	"github.com/dogear/dogear/reader"
	"github.com/dogear/dogear/sink/folder"
	"github.com/dogear/dogear/wire"
)

var errInjected = errors.New("injected")

// calls counts, and fails the nth.
type calls struct{ nth, n atomic.Int64 }

func (c *calls) fail() error {
	if c.n.Add(1) == c.nth.Load() {
		return errInjected
	}
	return nil
}

// failingStore fails the nth call of those that a run makes.
type failingStore struct {
	ledger.Store
	*calls
}

func (f failingStore) Begin(ctx context.Context, job int64, deadline time.Time) (ledger.Run, error) {
	if err := f.fail(); err != nil {
		return ledger.Run{}, err
	}
	return f.Store.Begin(ctx, job, deadline)
}

func (f failingStore) EndRun(ctx context.Context, run int64, reason dogear.StopReason) error {
	return errors.Join(f.fail(), f.Store.EndRun(ctx, run, reason))
}

func (f failingStore) Lanes(ctx context.Context, job int64) ([]ledger.Lane, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Lanes(ctx, job)
}

func (f failingStore) Claim(ctx context.Context, lane int64, n, attempts int) ([]dogear.Document, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Claim(ctx, lane, n, attempts)
}

func (f failingStore) NextDue(ctx context.Context, lane int64, attempts int) (time.Time, error) {
	if err := f.fail(); err != nil {
		return time.Time{}, err
	}
	return f.Store.NextDue(ctx, lane, attempts)
}

func (f failingStore) Return(ctx context.Context, fates []dogear.Fate) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Return(ctx, fates)
}

func (f failingStore) Settle(ctx context.Context, run int64, done []ledger.Settlement, placed []int64) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Settle(ctx, run, done, placed)
}

func (f failingStore) Taken(ctx context.Context, job int64, folded []string) (map[string]bool, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Taken(ctx, job, folded)
}

func (f failingStore) Recheck(ctx context.Context, job int64, attempts int, states ...dogear.State) (int64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Store.Recheck(ctx, job, attempts, states...)
}

func (f failingStore) Decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Decide(ctx, keys, decide)
}

// failingSink fails the nth call, and the nth write.
type failingSink struct {
	reader.Sink
	*calls
}

func (f failingSink) Create(doc, keep int64) (io.WriteCloser, io.Reader, error) {
	if err := f.fail(); err != nil {
		return nil, nil, err
	}
	w, prefix, err := f.Sink.Create(doc, keep)
	return failingWriter{w, f.calls}, prefix, err
}

type failingWriter struct {
	io.WriteCloser
	*calls
}

func (f failingWriter) Write(p []byte) (int, error) {
	if err := f.fail(); err != nil {
		n, _ := f.WriteCloser.Write(p[:len(p)/2])
		return n, err
	}
	return f.WriteCloser.Write(p)
}

func (f failingWriter) Close() error { return errors.Join(f.fail(), f.WriteCloser.Close()) }

func (f failingSink) Sync(docs []int64) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Sink.Sync(docs)
}

func (f failingSink) Place(doc int64, path string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Sink.Place(doc, path)
}

func (f failingSink) WriteList(ctx context.Context, rows iter.Seq2[dogear.Result, error]) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Sink.WriteList(ctx, rows)
}

// service throttles its third request and counts whole deliveries.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	arrivals map[string]int
	n        int
}

func newService(t *testing.T) *service {
	s := &service{arrivals: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n++
		if s.n == 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		s.arrivals[r.URL.Path]++
		w.Header().Set("ETag", `"v1"`)
		io.WriteString(w, strings.Repeat(r.URL.Path, 100))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals[path]
}

const few = 6

// world is a job of a few documents on a ledger and in a folder of its own.
type world struct {
	t       *testing.T
	service *service
	ledger  string
	out     string
	job     int64
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{t: t, service: newService(t), ledger: filepath.Join(dir, "state", "ledger.db"), out: filepath.Join(dir, "out")}
	s := w.open()
	defer s.Close()
	set := ledger.Settings{Sink: w.out, Attempts: 8, MaxThrottles: 10, BackoffBase: time.Millisecond, BackoffMax: time.Millisecond,
		MaxSize: 1 << 20, Concurrency: 2}
	job, _, err := s.Create(context.Background(), "job", set, func(yield func(dogear.Document, error) bool) {
		for i := range few {
			u := fmt.Sprintf("%s/d%d", w.service.URL, i)
			if !yield(dogear.Document{ID: u, Address: u, Name: fmt.Sprintf("d%d", i), Size: -1, Scopes: []string{"s"}, Fingerprint: uint64(i)}, nil) {
				return
			}
		}
	})
	if err == nil {
		err = s.Confirm(context.Background(), "s", dogear.Confirmation{By: "test", At: time.Now()}, 0, 0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.job = job.ID
	return w
}

func (w *world) open() *sqlite.Store {
	s, err := sqlite.Open(context.Background(), w.ledger, sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// run is one run as another process would make it.
func (w *world) run(wrapStore func(ledger.Store) ledger.Store, wrapSink func(reader.Sink) reader.Sink) (reader.Ending, error) {
	real := w.open()
	defer real.Close()
	store := ledger.Store(real)
	if wrapStore != nil {
		store = wrapStore(store)
	}
	out, err := folder.Open(w.out, "job")
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	sink := reader.Sink(out)
	if wrapSink != nil {
		sink = wrapSink(sink)
	}
	wr, err := wire.New(wire.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer wr.Close()
	job, err := real.Job(context.Background(), "job")
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Store: store, Wire: wr, RequireConfirmed: true, BackoffBase: time.Millisecond, BackoffMax: 10 * time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	r := reader.New(reader.Config{Store: store, Job: job, Gate: g, Sink: sink, Log: slog.New(slog.DiscardHandler),
		Grace: time.Second, Scopes: func(*url.URL) []string { return []string{"s"} }})
	return r.Run(context.Background())
}

// done is how often each document that is done was sent so far, by its path.
func (w *world) done() map[string]int {
	s := w.open()
	defer s.Close()
	out := map[string]int{}
	for res, err := range s.Results(context.Background(), w.job) {
		if err != nil {
			w.t.Fatal(err)
		}
		path := strings.TrimPrefix(res.ID, w.service.URL)
		out[path] = w.service.count(path)
	}
	return out
}

// check holds what must be true after whatever happened and a run to the end.
func (w *world) check() {
	w.t.Helper()
	s := w.open()
	defer s.Close()
	job, err := s.Job(context.Background(), "job")
	if err != nil {
		w.t.Fatal(err)
	}
	done := 0
	for res, err := range s.Results(context.Background(), job.ID) {
		if err != nil {
			w.t.Fatal(err)
		}
		done++
		body, err := os.ReadFile(filepath.Join(w.out, res.Path))
		sum := sha256.Sum256(body)
		if err != nil || hex.EncodeToString(sum[:]) != res.SHA256 {
			w.t.Errorf("%s: %v, or other bytes than the ledger says", res.Path, err)
		}
	}
	if done != few {
		w.t.Errorf("%d documents done, want %d", done, few)
	}
	sent := 0
	for req, err := range s.Requests(context.Background(), job.ID) {
		if err != nil {
			w.t.Fatal(err)
		}
		if req.Outcome.Sent() {
			sent++
		}
	}
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	if sent < w.service.n {
		w.t.Errorf("the service saw %d requests and the ledger %d: a request was not written down (K1)", w.service.n, sent)
	}
	entries, err := os.ReadDir(w.out)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".part") {
			w.t.Errorf("%s was left behind", e.Name())
		}
	}
}

// K4: whichever call of the ledger fails, the run ends with a reason and the next goes on.
func TestK4EveryStoreCallFails(t *testing.T) {
	everyCall(t, func(c *calls, w *world) (reader.Ending, error) {
		return w.run(func(s ledger.Store) ledger.Store { return failingStore{s, c} }, nil)
	}, dogear.LedgerFailed)
}

// K4: the same for every call of the sink.
func TestK4EverySinkCallFails(t *testing.T) {
	everyCall(t, func(c *calls, w *world) (reader.Ending, error) {
		return w.run(nil, func(s reader.Sink) reader.Sink { return failingSink{s, c} })
	}, dogear.SinkFailed)
}

func everyCall(t *testing.T, run func(*calls, *world) (reader.Ending, error), reason dogear.StopReason) {
	for nth := int64(1); ; nth++ {
		c := &calls{}
		c.nth.Store(nth)
		w := newWorld(t)
		end, err := run(c, w)
		if c.n.Load() < nth {
			if nth < 10 {
				t.Fatalf("only %d calls: the wrapper sees nothing", nth)
			}
			t.Logf("%d calls failed, one a run", nth-1)
			return
		}
		// A failure is told, but where the run could do without the call.
		if err == nil && end.Reason != reason && end.Reason != dogear.Completed {
			t.Errorf("call %d failed: reason %s, want %s", nth, end.Reason, reason)
		}
		done := w.done()
		end, err = w.run(nil, nil)
		for path, n := range done { // K2, K3: the ledger's commit was the moment
			if again := w.service.count(path) - n; again != 0 {
				t.Errorf("%s was done and was read again %d times", path, again)
			}
		}
		if err != nil || end.Reason != dogear.Completed {
			t.Fatalf("after call %d failed the next run: %s, %v, %v", nth, end.Reason, end.Err, err)
		}
		w.check()
		if t.Failed() {
			t.Fatalf("after call %d failed", nth)
		}
	}
}
