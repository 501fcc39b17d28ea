package cli

import (
	"testing"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/reader"
)

// What other processes have done is what the ledger counts beyond the start and one's own; it
// is never less than nothing, though one's own goes on while the ledger is read.
func TestTheirs(t *testing.T) {
	documents := func(done, denied int64) map[dogear.State]int64 {
		return map[dogear.State]int64{dogear.Done: done, dogear.Denied: denied}
	}
	before := ledger.Counts{Documents: documents(10, 1), Sent: 12, Throttled: 1}
	now := ledger.Counts{Documents: documents(50, 2), Sent: 60, Throttled: 2}
	got := theirsOf(before, now, reader.Progress{Done: 15, Denied: 1, Sent: 20, Throttled: 2})
	if want := (reader.Progress{Done: 25, Sent: 28}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
