package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// A computer is a machine whose clocks the test moves.
type computer struct {
	boot string
	up   time.Duration
	wall time.Time
}

func (c *computer) machine() machine {
	return machine{
		boot:  c.boot,
		since: func() time.Duration { return c.up },
		wall:  func() time.Time { return c.wall },
	}
}

// run lets time pass; the wall clock shows it too.
func (c *computer) run(d time.Duration) {
	c.up += d
	c.wall = c.wall.Add(d)
}

func decideOne(t *testing.T, s *Store, decide func(*dogear.Docket, *dogear.Scope)) {
	t.Helper()
	err := s.Decide(t.Context(), []string{"host:a"}, func(d *dogear.Docket) { decide(d, d.Scopes["host:a"]) })
	if err != nil {
		t.Fatal(err)
	}
}

// left is how long the scope's wait still takes.
func left(t *testing.T, s *Store) (wait time.Duration, rebooted bool) {
	t.Helper()
	decideOne(t, s, func(d *dogear.Docket, sc *dogear.Scope) {
		wait, rebooted = sc.NotBefore.Sub(d.Now), sc.Rebooted
	})
	return wait, rebooted
}

// A step of the wall clock neither shortens nor lengthens a wait, and processes that start
// before it and after it agree (design, section 6).
func TestWallClockSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	pc := &computer{boot: "one", up: time.Minute, wall: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := openAt(t, path, pc.machine())
	decideOne(t, a, func(d *dogear.Docket, sc *dogear.Scope) { sc.NotBefore = d.Now.Add(time.Hour) })
	for _, step := range []time.Duration{-3 * time.Hour, 5 * time.Hour, 24 * 365 * time.Hour} {
		pc.wall = pc.wall.Add(step)
		b := openAt(t, path, pc.machine())
		if a.Now() != b.Now() {
			t.Errorf("after a step of %v the two are %v apart", step, b.Now().Sub(a.Now()))
		}
		for _, s := range []*Store{a, b} {
			if got, rebooted := left(t, s); got != time.Hour || rebooted {
				t.Errorf("after a step of %v the wait takes %v (rebooted %v), want an hour", step, got, rebooted)
			}
		}
	}
	pc.run(20 * time.Minute)
	if got, _ := left(t, a); got != 40*time.Minute {
		t.Errorf("after 20 minutes the wait takes %v, want 40 minutes", got)
	}
}

// After a reboot a wait ends when it would have by the wall clock, of scopes and of
// documents, also when the wall clock was set in between.
func TestReboot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	pc := &computer{boot: "one", up: time.Minute, wall: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := openAt(t, path, pc.machine())
	pc.wall = pc.wall.Add(5 * time.Hour) // set by hand: the ledger's clock does not follow
	job, _, err := a.Create(t.Context(), "j", ledger.Settings{}, docs(2))
	if err != nil {
		t.Fatal(err)
	}
	run, err := a.Begin(t.Context(), job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, err := a.Lanes(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := a.Claim(t.Context(), lanes[0].ID, 2, 8)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Return(t.Context(), []dogear.Fate{
		{Doc: claimed[0].Seq, NotBefore: a.Now().Add(time.Hour)},
		{Doc: claimed[1].Seq, NotBefore: lastInstant},
	})
	if err != nil {
		t.Fatal(err)
	}
	decideOne(t, a, func(d *dogear.Docket, sc *dogear.Scope) {
		sc.NotBefore, sc.Pace = d.Now.Add(2*time.Hour), []byte("pace")
	})
	if err := a.EndRun(t.Context(), run.ID, dogear.Deadline); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	pc.run(30 * time.Minute)
	pc.boot, pc.up = "two", 5*time.Second
	b := openAt(t, path, pc.machine())
	if b.Now() != pc.wall {
		t.Errorf("after the reboot it is %v, want the wall clock's %v", b.Now(), pc.wall)
	}
	// A person who confirms is no decision: the pace is still of another boot.
	if err := b.Confirm(t.Context(), "host:a", dogear.Confirmation{By: "me", At: pc.wall}, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if got, rebooted := left(t, b); got != 90*time.Minute || !rebooted {
		t.Errorf("the scope's wait takes %v (rebooted %v), want 90 minutes and to hear of the reboot", got, rebooted)
	}
	decideOne(t, b, func(d *dogear.Docket, sc *dogear.Scope) { sc.Pace = []byte("new") })
	if got, rebooted := left(t, b); got != 90*time.Minute || rebooted {
		t.Errorf("after a decision the wait takes %v (rebooted %v), want 90 minutes", got, rebooted)
	}
	due, err := b.NextDue(t.Context(), lanes[0].ID, 8)
	if err != nil {
		t.Fatal(err)
	}
	if got := due.Sub(b.Now()); got != 30*time.Minute {
		t.Errorf("the document's wait takes %v, want 30 minutes", got)
	}
}

// Leases of another boot are nobody's, though their time has not come.
func TestRebootEndsLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	pc := &computer{boot: "one", up: time.Minute, wall: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := openAt(t, path, pc.machine())
	job, _, err := a.Create(t.Context(), "j", ledger.Settings{}, docs(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Begin(t.Context(), job.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	other := *pc
	other.boot, other.up = "two", 0
	if _, err := openAt(t, path, other.machine()).Begin(t.Context(), job.ID, time.Time{}); err != nil {
		t.Errorf("Begin after a reboot: %v", err)
	}
}

func TestInstants(t *testing.T) {
	for _, tt := range []struct {
		in   time.Time
		want int64
	}{
		{time.Time{}, 0},
		{time.Unix(0, 1), 1},
		{time.Date(2262, 4, 11, 23, 47, 16, 854775807, time.UTC), 1<<63 - 1},
		{time.Date(2262, 4, 11, 23, 47, 16, 854775808, time.UTC), 1<<63 - 1},
		{time.Unix(1<<63-62135596801, 0), 1<<63 - 1}, // the last that a Time can be
	} {
		if got := nanos(tt.in); got != tt.want {
			t.Errorf("nanos(%v) = %d, want %d", tt.in, got, tt.want)
		}
	}
	for _, tt := range []struct {
		ns   int64
		d    time.Duration
		want int64
	}{
		{0, time.Hour, 0}, {5, 3, 8}, {5, -3, 2}, {1<<63 - 3, 10, 1<<63 - 1}, {1<<63 - 1, -time.Hour, 1<<63 - 1},
	} {
		if got := later(tt.ns, tt.d); got != tt.want {
			t.Errorf("later(%d, %v) = %d, want %d", tt.ns, tt.d, got, tt.want)
		}
	}
}

// The machine's own clock, whatever the system.
func TestThisMachine(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	before := m.since()
	if again := m.since(); again < before {
		t.Errorf("it went back from %v to %v", before, again)
	}
	s := openTest(t, m)
	if d := time.Since(s.Now()).Abs(); d > time.Minute {
		t.Errorf("the clock of a new ledger is %v off the wall clock", d)
	}
}
