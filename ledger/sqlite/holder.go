package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear/ledger"
)

// lease is how long a holder lives without a word.
const lease = 30 * time.Second

// self is this process as a holder.
type self struct {
	n    int64
	lock *os.File
}

// A holder is a row of holders.
type holder struct {
	n       int64
	lock    string
	pid     int
	host    string
	boot    string
	expires int64
	waiting string
}

const (
	addHolder = `INSERT INTO holders (lock, pid, host, boot, started, expires, waiting) VALUES (?, ?, ?, ?, ?, ?, '{}')`

	readHolders = `SELECT n, lock, pid, host, boot, expires, waiting FROM holders`

	readLease = `SELECT expires FROM holders WHERE n = ?`

	renewLease = `UPDATE holders SET expires = ?2 WHERE n = ?1`

	renewHolder = `UPDATE holders SET expires = ?2, waiting = ?3 WHERE n = ?1`

	removeHolder = `DELETE FROM holders WHERE n = ?`
)

// join makes this process a holder if it is none: a lock file that the kernel frees when the
// process ends, and a row.
func (s *Store) join(ctx context.Context) error {
	if s.me.Load() != nil {
		return nil
	}
	lock, err := newHolderLock(s.holders())
	if err != nil {
		return fmt.Errorf("make this process a holder: %w", err)
	}
	me := &self{lock: lock}
	err = s.doAlone(ctx, func(tx *tx) error {
		if s.me.Load() != nil {
			return nil
		}
		host, _ := os.Hostname() // for people only
		err := tx.conn.exec(addHolder, filepath.Base(lock.Name()), os.Getpid(), host, s.clock.boot, tx.wall, tx.now+int64(lease))
		if err != nil {
			return err
		}
		me.n = tx.conn.LastInsertRowID()
		tx.after = append(tx.after, func() { s.me.Store(me) })
		return nil
	})
	if s.me.Load() != me {
		removeHolderLock(lock)
	}
	if err != nil {
		return fmt.Errorf("make this process a holder: %w", err)
	}
	return nil
}

// holders is the folder of the holders' lock files.
func (s *Store) holders() string { return s.path + ".holders" }

// newHolderLock makes a lock file of a new name and takes its lock.
func newHolderLock(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(filepath.Join(folder, rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		// Who sweeps the folder may have taken the file for a dead holder's before it was
		// locked.
		if _, err := os.Stat(f.Name()); err == nil {
			return f, nil
		} else if err := errors.Join(ignoreMissing(err), f.Close()); err != nil {
			return nil, err
		}
	}
}

// removeHolderLock gives the lock back. A file that cannot be removed does no harm: nobody
// names it any more.
func removeHolderLock(f *os.File) {
	_ = os.Remove(f.Name())
	_ = f.Close()
	_ = os.Remove(f.Name()) // Windows removes no open file
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// acts sees to it that this process may write as a holder. Who writes lives: half a lease
// before its end it is renewed. One that ran out and that nobody noticed, as when the machine
// was asleep, goes on.
func (tx *tx) acts() error {
	if tx.lost.Load() {
		return ledger.ErrLeaseLost
	}
	if tx.acting {
		return nil
	}
	me := tx.me.Load()
	var expires int64
	found, err := tx.conn.row(readLease, func(r *sqlite.Stmt) { expires = r.ColumnInt64(0) }, me.n)
	if err != nil {
		return err
	}
	if !found {
		tx.lost.Store(true)
		return ledger.ErrLeaseLost
	}
	if expires-tx.now < int64(lease)/2 {
		if err := tx.conn.exec(renewLease, me.n, tx.now+int64(lease)); err != nil {
			return err
		}
	}
	tx.acting = true
	return nil
}

// Renew keeps this process's lease and says how many requests wait in each scope.
func (s *Store) Renew(ctx context.Context, waiting map[string]int) error {
	said, err := json.Marshal(waiting)
	if err != nil || waiting == nil {
		said = []byte("{}")
	}
	err = s.act(ctx, func(tx *tx) error {
		if err := tx.closeGate(); err != nil {
			return err
		}
		return tx.conn.exec(renewHolder, s.me.Load().n, tx.now+int64(lease), string(said))
	})
	if err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	return nil
}

// readHolder reads a row of readHolders.
func readHolder(r *sqlite.Stmt) holder {
	return holder{
		n: r.ColumnInt64(0), lock: r.ColumnText(1), pid: r.ColumnInt(2), host: r.ColumnText(3),
		boot: r.ColumnText(4), expires: r.ColumnInt64(5), waiting: r.ColumnText(6),
	}
}

func allHolders(c conn) ([]holder, error) {
	var all []holder
	err := c.rows(readHolders, func(r *sqlite.Stmt) { all = append(all, readHolder(r)) })
	return all, err
}

// alive reports whether a holder lives: its lease has not run out, and the kernel says that
// its process is there. This process takes itself for alive; acts knows better.
func (s *Store) alive(h holder, fresh bool) bool {
	if me := s.me.Load(); me != nil && me.n == h.n {
		return true
	}
	return h.boot == s.clock.boot && h.expires > s.clock.now() && s.probe.held(s.holders(), h.lock, fresh)
}

// waits are the requests that a holder says wait in each scope.
func (h holder) waits() map[string]int {
	var w map[string]int
	_ = json.Unmarshal([]byte(h.waiting), &w) // what cannot be read waits for nothing
	return w
}

// leave ends this process's holder. The writing goroutine has ended.
func (s *Store) leave() error {
	me := s.me.Load()
	if me == nil {
		return nil
	}
	c := &call{alone: true, done: make(chan error, 1), work: func(tx *tx) error {
		if err := tx.acts(); err != nil {
			return err
		}
		return tx.reap(holder{n: me.n})
	}}
	s.turn(c)
	err := <-c.done
	removeHolderLock(me.lock)
	if errors.Is(err, ledger.ErrLeaseLost) { // whoever took it for dead has done all this
		return nil
	}
	return err
}
