package postgres

import (
	"sync"
	"time"
)

// drift is how much faster than this machine's the database's clock may run: 1 in 2^11,
// which is more than any discipline of a clock makes of it.
const drift = 11

// A clock tells the database's time between two looks at it, never less than it is. A look
// was sent at some moment and shows what the database's clock was later, so what that was
// plus all the time since the sending is at least what it is.
type clock struct {
	since func() time.Duration // a clock that nobody sets

	mu   sync.Mutex
	sent time.Duration // when the last look was sent
	read int64         // what it showed
	last int64         // what was told last

	heard time.Duration // when the last answer came
}

// slowLook is how long an answer takes that tells too little: all of that time the clock would
// be ahead, and stay so.
const slowLook = time.Second

// look takes what the database's clock was after the moment, by since, at which the question
// was sent. The newest look counts: the database's clock may have been set. One whose answer
// took long does not, if there was another before.
func (c *clock) look(sent time.Duration, read int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.since()
	c.heard = now
	if sent >= c.sent && (now-sent < slowLook || c.read == 0) {
		c.sent, c.read = sent, read
	}
}

// age is how long ago an answer last came; zero before the first.
func (c *clock) age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == 0 {
		return 0
	}
	return c.since() - c.heard
}

// now never runs backwards.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := int64(c.since() - c.sent)
	c.last = max(c.last, c.read+passed+passed>>drift)
	return c.last
}
