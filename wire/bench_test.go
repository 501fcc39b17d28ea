package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkRequests compares requests a second at 64 in flight with those of a plain
// http.Transport, in blocks that take turns: ratio is ours over its.
func BenchmarkRequests(b *testing.B) {
	const inFlight = 64
	body := strings.Repeat("x", 2<<10)
	for _, proto := range []string{"h1", "h2"} {
		b.Run(proto, func(b *testing.B) {
			ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, body)
			}))
			_, trust := identityOf(b)
			if ts.EnableHTTP2 = proto == "h2"; ts.EnableHTTP2 {
				ts.StartTLS()
			} else {
				ts.Start()
			}
			defer ts.Close()
			u := parse(b, ts.URL)

			w := newWire(b, Config{TLS: trust})
			ours := func() (*http.Response, error) {
				slot, err := w.Reserve(b.Context(), u)
				if err != nil {
					return nil, err
				}
				return slot.Send(&http.Request{Method: "GET", URL: u, Header: http.Header{}})
			}
			tr := &http.Transport{TLSClientConfig: trust.Clone(), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: inFlight, DisableCompression: true}
			defer tr.CloseIdleConnections()
			theirs := func() (*http.Response, error) {
				return tr.RoundTrip((&http.Request{Method: "GET", URL: u, Header: http.Header{}}).WithContext(b.Context()))
			}
			run := func(n int, do func() (*http.Response, error)) time.Duration {
				var left atomic.Int64
				left.Store(int64(n))
				var wg sync.WaitGroup
				start := time.Now()
				for range inFlight {
					wg.Go(func() {
						buf := make([]byte, 32<<10)
						for left.Add(-1) >= 0 {
							resp, err := do()
							if err != nil {
								b.Error(err)
								return
							}
							for err == nil {
								_, err = resp.Body.Read(buf)
							}
							resp.Body.Close()
							if err != io.EOF {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				return time.Since(start)
			}
			run(inFlight*4, ours)
			run(inFlight*4, theirs)
			b.ReportAllocs()
			b.ResetTimer()
			var a, z time.Duration
			var ratios []float64
			for left := b.N; left > 0; left -= 1000 {
				n := min(left, 1000)
				da, dz := run(n, ours), run(n, theirs)
				a, z = a+da, z+dz
				ratios = append(ratios, dz.Seconds()/da.Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(float64(b.N)/a.Seconds(), "req/s")
			b.ReportMetric(float64(b.N)/z.Seconds(), "transport-req/s")
			b.ReportMetric(ratios[len(ratios)/2], "ratio") // the median: other work disturbs
		})
	}
}
