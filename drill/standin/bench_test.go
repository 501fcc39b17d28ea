package standin

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/dogear/dogear/drill/journal"
)

// BenchmarkStorm is a client that asks as fast as it can: every second request is refused.
// The client runs in the same process and takes its share.
func BenchmarkStorm(b *testing.B) {
	f, err := os.Create(b.TempDir() + "/journal")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for name, secure := range map[string]bool{"http1": false, "http2": true} {
		b.Run(name, func(b *testing.B) {
			s, err := Start(Config{TLS: secure, Journal: journal.New(f), Size: 1000, Digests: true, Rules: []Rule{Every(2, Refuse(Refusal{}))}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			c := trusting(s.CA())
			c.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
			defer c.CloseIdleConnections()
			var n atomic.Int64
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := c.Get(s.URL("/doc/" + strconv.FormatInt(n.Add(1)%1000, 10)))
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
