package gate

import (
	"testing"
	"time"

	"github.com/dogear/dogear"
)

// E1: what is left of a wait is compared with what is left until the deadline, whatever the
// ledger's wall clock says.
func TestDeadlineByAnotherClock(t *testing.T) {
	g, err := New(Config{Store: newMemory().process(), Deadline: time.Now().Add(40 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, ahead := range []time.Duration{-7 * time.Minute, 0, 5 * time.Minute} {
		for wait, hopeless := range map[time.Duration]bool{2 * time.Second: false, 39 * time.Second: false, 40 * time.Second: true, time.Minute: true} {
			s := &dogear.Scope{Key: "a", Probing: true, NotBefore: now.Add(wait)}
			k := &dogear.Docket{Now: now, Wall: now.Add(ahead), Scopes: map[string]*dogear.Scope{"a": s}}
			d := &decision{gate: g, left: 40 * time.Second}
			if err := d.hopeless(k, []string{"a"}, &waiter{}); (err != nil) != hopeless {
				t.Errorf("a wait of %v, 40 s before the deadline, by a wall clock %v ahead: %v", wait, ahead, err)
			}
		}
	}
}
