package postgres_test

import (
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

const benchKey = "host:docs.example.com"

// BenchmarkCreate lists a job of b.N documents.
func BenchmarkCreate(b *testing.B) {
	s := openStore(b, pgtest.Database(b))
	defer s.Close()
	b.ResetTimer()
	if _, _, err := s.Create(b.Context(), "bench", ledger.Settings{}, postgres.Docs(b.N)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkAdmit has 64 goroutines in each of some stores that each have one request granted
// and ended, again and again, on one scope.
func BenchmarkAdmit(b *testing.B) {
	for _, stores := range []int{1, 4} {
		b.Run(fmt.Sprintf("stores=%d", stores), func(b *testing.B) {
			dsn := pgtest.Database(b)
			var left atomic.Int64
			left.Store(int64(b.N))
			var mu sync.Mutex
			var took []time.Duration
			var all sync.WaitGroup
			for range stores {
				s := openStore(b, dsn)
				defer s.Close()
				admitOne(b, s)
				for range 64 {
					all.Go(func() {
						var mine []time.Duration
						for left.Add(-1) >= 0 {
							mine = append(mine, admitOne(b, s))
						}
						mu.Lock()
						took = append(took, mine...)
						mu.Unlock()
					})
				}
			}
			b.ResetTimer()
			all.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "admissions/s")
			if len(took) > 0 {
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			}
		})
	}
}

// admitOne has a request granted, and ended; it tells how long the grant took.
func admitOne(b testing.TB, s *postgres.Store) time.Duration {
	var n int64
	start := time.Now()
	err := s.Decide(b.Context(), []string{benchKey}, func(d *dogear.Docket) {
		n = d.Next
		d.Grants = append(d.Grants, dogear.Request{N: n, Scopes: []string{benchKey}})
		d.Scopes[benchKey].Pace = strconv.AppendInt(nil, d.Now.UnixNano(), 10)
	})
	took := time.Since(start)
	if err == nil {
		err = s.Decide(b.Context(), []string{benchKey}, func(d *dogear.Docket) {
			d.Ends = append(d.Ends, dogear.End{Request: n, Status: 200, Outcome: dogear.OK, Sent: d.Wall, Ended: d.Wall})
		})
	}
	if err != nil {
		b.Error(err)
	}
	return took
}

// BenchmarkRead takes b.N documents all the way, everything durable: claimed by 256, granted
// and ended by 64, settled by 256.
func BenchmarkRead(b *testing.B) {
	dsn := pgtest.Database(b)
	s := openStore(b, dsn)
	defer s.Close()
	ctx := b.Context()
	job, _, err := s.Create(ctx, "bench", ledger.Settings{}, postgres.Docs(b.N))
	if err != nil {
		b.Fatal(err)
	}
	run, err := s.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	lanes, err := s.Lanes(ctx, job.ID)
	if err != nil {
		b.Fatal(err)
	}
	const readWAL = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`
	wal := ask[int64](b, dsn, readWAL)
	b.ResetTimer()
	for {
		docs, err := s.Claim(ctx, lanes[0].ID, 256, 8)
		if err != nil {
			b.Fatal(err)
		}
		if len(docs) == 0 {
			break
		}
		for part := range slices.Chunk(docs, 64) {
			readPart(b, s, job, run, part)
		}
		settleAll(b, s, run, docs)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
	b.ReportMetric(float64(ask[int64](b, dsn, readWAL)-wal)/float64(b.N), "WAL-B/doc")
	for _, table := range []string{"documents", "ids", "results", "requests"} {
		size := ask[int64](b, dsn, `SELECT pg_total_relation_size('dogear.`+table+`')`)
		b.ReportMetric(float64(size)/float64(b.N), table+"-B/doc")
	}
}

// BenchmarkClaimSettle claims and settles b.N documents by 64, of a job that has
// DOGEAR_BENCH_ROWS of them, or just as many.
func BenchmarkClaimSettle(b *testing.B) {
	s := openStore(b, pgtest.Database(b))
	defer s.Close()
	ctx := b.Context()
	rows, _ := strconv.Atoi(os.Getenv("DOGEAR_BENCH_ROWS"))
	job, _, err := s.Create(ctx, "bench", ledger.Settings{}, postgres.Docs(max(b.N, rows)))
	if err != nil {
		b.Fatal(err)
	}
	run, err := s.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	lanes, err := s.Lanes(ctx, job.ID)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for left := b.N; left > 0; {
		docs, err := s.Claim(ctx, lanes[0].ID, min(64, left), 8)
		if err != nil {
			b.Fatal(err)
		}
		settleAll(b, s, run, docs)
		left -= len(docs)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

func readPart(b testing.TB, s *postgres.Store, job ledger.Job, run ledger.Run, docs []dogear.Document) {
	var first int64
	err := s.Decide(b.Context(), docs[0].Scopes, func(d *dogear.Docket) {
		first = d.Next
		for i, doc := range docs {
			d.Grants = append(d.Grants, dogear.Request{
				N: first + int64(i), Job: job.ID, Run: run.ID, Doc: doc.Seq, Scopes: doc.Scopes, Granted: d.Wall,
			})
		}
	})
	if err == nil {
		err = s.Decide(b.Context(), docs[0].Scopes, func(d *dogear.Docket) {
			for i := range docs {
				d.Ends = append(d.Ends, dogear.End{
					Request: first + int64(i), Sent: d.Wall, Ended: d.Wall, Status: 200, Outcome: dogear.OK, Bytes: 8192,
				})
			}
		})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func settleAll(b testing.TB, s *postgres.Store, run ledger.Run, docs []dogear.Document) {
	done := make([]ledger.Settlement, len(docs))
	placed := make([]int64, len(docs))
	for i, doc := range docs {
		done[i] = ledger.Settlement{
			Result: dogear.Result{
				Doc: doc.Seq, ID: doc.ID, Version: `"5f3c1a"`, Path: savedAs(doc), Size: 8192,
				SHA256:      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
				ContentType: "text/html", ReadAt: time.Now(), Run: run.ID,
			},
			Temp: fmt.Sprintf(".dogear-%d.part", doc.Seq), Folded: savedAs(doc),
		}
		placed[i] = doc.Seq
	}
	if err := s.Settle(b.Context(), run.ID, done, placed); err != nil {
		b.Fatal(err)
	}
}

// TestLarge lists a million documents in a process of its own and looks at its memory.
func TestLarge(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("DOGEAR_LARGE"))
	if dsn := os.Getenv("DOGEAR_LARGE_DSN"); dsn != "" {
		s := openStore(t, dsn)
		defer s.Close()
		start := time.Now()
		job, repeats, err := s.Create(t.Context(), "large", ledger.Settings{}, postgres.Docs(n))
		if err != nil || job.Total != int64(n) || repeats != 0 {
			t.Fatalf("%+v, %d repeats, %v", job, repeats, err)
		}
		t.Logf("%d documents in %v, %s", n, time.Since(start), peak())
		return
	}
	inOwnProcess(t, n)
}

// peak is the most memory that this process has had.
func peak() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") {
			return strings.TrimSpace(line)
		}
	}
	return "VmHWM unknown"
}

// inOwnProcess runs a test once more, with n documents in a database of its own.
func inOwnProcess(t *testing.T, n int) {
	t.Helper()
	if n == 0 || runtime.GOOS != "linux" {
		t.Skip("DOGEAR_LARGE says how many documents")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "DOGEAR_LARGE_DSN="+pgtest.Database(t), "DOGEAR_TEST_POSTGRES=skip")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkExport exports a job of b.N documents that are done.
func BenchmarkExport(b *testing.B) {
	s := openStore(b, pgtest.Database(b))
	defer s.Close()
	if err := s.Import(b.Context(), moved(b.N), func(path string) string { return path }); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	drain(b, s.Export(b.Context()))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkImport imports a job of b.N documents that are done, each with a request.
func BenchmarkImport(b *testing.B) {
	s := openStore(b, pgtest.Database(b))
	defer s.Close()
	b.ResetTimer()
	if err := s.Import(b.Context(), moved(b.N), func(path string) string { return path }); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// moved are the records of a ledger with n documents that are done.
func moved(n int) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		at, keys := time.Unix(1_800_000_000, 0).UTC(), []string{benchKey}
		job := &ledger.JobRecord{Name: "bench", Created: at, Lanes: []ledger.LaneRecord{{Listed: keys, Scopes: keys}}, Attempts: int64(n)}
		run := &ledger.RunRecord{Number: 1, Started: at, Ended: at, Sent: int64(n), Done: int64(n)}
		if !yield(ledger.Record{Job: job}, nil) || !yield(ledger.Record{Run: run}, nil) {
			return
		}
		place := int64(0)
		for d := range postgres.Docs(n) {
			rec := &ledger.DocumentRecord{Place: place, ID: d.ID, Line: d.Line, Offset: d.Offset, Name: d.Name, State: dogear.Done, Attempts: 1,
				Result: &ledger.ResultRecord{Run: 1, Version: `"5f3c1a"`, Path: savedAs(d), Size: 8192, ContentType: "text/html", ReadAt: at,
					SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}
			if place++; !yield(ledger.Record{Document: rec}, nil) {
				return
			}
		}
		for i := range place {
			q := &ledger.RequestRecord{N: i + 1, Run: 1, Place: &i, Scopes: keys, Granted: at, Sent: at, Ended: at, Status: 200, Outcome: dogear.OK, Bytes: 8192}
			if !yield(ledger.Record{Request: q}, nil) {
				return
			}
		}
	}
}

// TestLargeMove imports and exports a ledger of many documents in a process of its own and
// looks at its memory.
func TestLargeMove(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("DOGEAR_LARGE"))
	if dsn := os.Getenv("DOGEAR_LARGE_DSN"); dsn != "" {
		s := openStore(t, dsn)
		defer s.Close()
		start := time.Now()
		must(t, s.Import(t.Context(), moved(n), func(path string) string { return path }))
		t.Logf("%d documents and requests in, in %v, %s", n, time.Since(start), peak())
		start = time.Now()
		if got := drain(t, s.Export(t.Context())); got != 2*n+2 {
			t.Errorf("%d records, want %d", got, 2*n+2)
		}
		t.Logf("and out, in %v, %s", time.Since(start), peak())
		return
	}
	inOwnProcess(t, n)
}

// savedAs is the name of a document's file in a flat folder.
func savedAs(d dogear.Document) string { return strings.ReplaceAll(d.Name, "/", "_") }
