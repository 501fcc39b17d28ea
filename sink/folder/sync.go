package folder

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// parallel is how many files are synced at once where each is synced by itself.
	parallel = 32
	// slow is the time after which a syncfs is taken to pay for what others write on the
	// same file system, and spared is how many groups then do without.
	slow   = 2 * time.Second
	spared = 16
)

// settle makes the contents of the files durable, and their names, and every [Sink.Place] that
// had returned before. The files may be open or closed, and have their temporary names still.
// With no files it is for the renames alone.
//
// Once it has failed it always fails, and with the same error: the system reports a lost
// write once, to whoever asks next, so nobody could say whose bytes were lost. Open the
// folder again, after the disk is right, and read again what was not durable.
func (s *Sink) settle(files []*File) error {
	// The lock is held over the wait: of two calls at the same moment only one would hear
	// of a lost write, and the other would call its files durable.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if err := s.sync(files); err != nil {
		s.broken = fmt.Errorf("make results in %s durable: %w", s.shown, err)
	}
	return s.broken
}

func (s *Sink) sync(files []*File) error {
	if s.whole && s.skip == 0 && len(files) > 0 {
		start := time.Now()
		err := syncfs(s.dir)
		if time.Since(start) > slow {
			s.skip = spared
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		s.whole = false
	}
	s.skip = max(0, s.skip-1)

	var g errgroup.Group
	g.SetLimit(parallel)
	for _, f := range files {
		g.Go(func() error { return s.flush(f, flushToDevice) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// syncFile makes the contents of one file durable, for the beginning of a body that is kept.
// Its name may be lost with the machine: then Create says [ErrNotKept].
func (s *Sink) syncFile(f *File) error {
	if err := s.flush(f, (*os.File).Sync); err != nil {
		return fmt.Errorf("keep the beginning of %s in %s: %w", f.name, s.shown, err)
	}
	return nil
}

// flush syncs a file through its own handle or, when that is closed, through another: a lost
// write that nobody was told of is told to a handle that is opened later, too.
func (s *Sink) flush(f *File, sync func(*os.File) error) error {
	if f.file != nil {
		if err := sync(f.file); !errors.Is(err, os.ErrClosed) {
			return err
		}
	}
	again, _, err := s.regular(f.name, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(sync(again), again.Close())
}
