//go:build unix

package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

func openBench(b *testing.B) *Store {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "ledger", "ledger.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// spent is the CPU time of this process: on a shared machine it says more than the clock.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func report(b *testing.B, what string, n int, since time.Duration) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), what+"/s")
	b.ReportMetric(float64((spent()-since).Microseconds())/float64(n), "cpu-µs/"+what)
}

// BenchmarkCreate lists a job of b.N documents.
func BenchmarkCreate(b *testing.B) {
	s := openBench(b)
	cpu := spent()
	b.ResetTimer()
	if _, _, err := s.Create(b.Context(), "bench", ledger.Settings{}, docs(b.N)); err != nil {
		b.Fatal(err)
	}
	report(b, "docs", b.N, cpu)
}

// BenchmarkRead takes b.N documents all the way, everything durable: claimed by 256, granted
// and ended by 64, settled by 256.
func BenchmarkRead(b *testing.B) {
	s := openBench(b)
	ctx := b.Context()
	job, _, err := s.Create(ctx, "bench", ledger.Settings{}, docs(b.N))
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
	cpu := spent()
	b.ResetTimer()
	var placed []int64
	for {
		docs, err := s.Claim(ctx, lanes[0].ID, 256, 8)
		if err != nil {
			b.Fatal(err)
		}
		if len(docs) == 0 {
			break
		}
		for i := 0; i < len(docs); i += 64 {
			part := docs[i:min(len(docs), i+64)]
			first := grantAll(b, s, run, job, part)
			endAll(b, s, first, len(part))
		}
		placed = settleAll(b, s, run, docs, placed)
	}
	report(b, "docs", b.N, cpu)
}

func grantAll(b *testing.B, s *Store, run ledger.Run, job ledger.Job, docs []dogear.Document) (first int64) {
	err := s.Decide(b.Context(), docs[0].Scopes, func(d *dogear.Docket) {
		first = d.Next
		for i, doc := range docs {
			d.Grants = append(d.Grants, dogear.Request{
				N: first + int64(i), Job: job.ID, Run: run.ID, Doc: doc.Seq, Scopes: doc.Scopes, Granted: d.Wall,
			})
		}
		d.Scopes[docs[0].Scopes[0]].Pace = fmt.Append(nil, `{"tat":`, d.Now.UnixNano(), `}`)
	})
	if err != nil {
		b.Fatal(err)
	}
	return first
}

func endAll(b *testing.B, s *Store, first int64, n int) {
	err := s.Decide(b.Context(), []string{"host:docs.example.com"}, func(d *dogear.Docket) {
		for i := range n {
			d.Ends = append(d.Ends, dogear.End{
				Request: first + int64(i), Sent: d.Wall, Ended: d.Wall, Status: 200, Outcome: dogear.OK, Bytes: 8192,
			})
		}
		d.Scopes["host:docs.example.com"].Pace = fmt.Append(nil, `{"tat":`, d.Now.UnixNano(), `}`)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func settleAll(b *testing.B, s *Store, run ledger.Run, docs []dogear.Document, placed []int64) []int64 {
	done := make([]ledger.Settlement, len(docs))
	now := make([]int64, len(docs))
	for i, doc := range docs {
		done[i] = ledger.Settlement{
			Result: dogear.Result{
				Doc: doc.Seq, ID: doc.ID, Version: `"5f3c1a"`, Path: doc.Name, Size: 8192,
				SHA256:      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
				ContentType: "text/html", ReadAt: time.Now(), Run: run.ID,
			},
			Temp: fmt.Sprintf(".dogear-%d.part", doc.Seq), Folded: doc.Name,
		}
		now[i] = doc.Seq
	}
	if err := s.Settle(b.Context(), run.ID, done, placed); err != nil {
		b.Fatal(err)
	}
	return now
}

// BenchmarkDecideMany has 64 goroutines that each have one request granted and ended, again
// and again.
func BenchmarkDecideMany(b *testing.B) {
	s := openBench(b)
	ctx := b.Context()
	job, _, err := s.Create(ctx, "bench", ledger.Settings{}, docs(64))
	if err != nil {
		b.Fatal(err)
	}
	run, err := s.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	cpu := spent()
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			doc := dogear.Document{Seq: job.First + int64(i), Scopes: []string{"host:docs.example.com"}}
			for left.Add(-1) >= 0 {
				endAll(b, s, grantAll(b, s, run, job, []dogear.Document{doc}), 1)
			}
		})
	}
	all.Wait()
	report(b, "decides", 2*b.N, cpu)
}
