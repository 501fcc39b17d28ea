package sqlite

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// probeLife is how long the answer of a probe is believed.
const probeLife = time.Second

// probes ask the kernel which holders' processes are there, and remember it for a moment.
type probes struct {
	mu   sync.Mutex
	seen map[string]probed
}

type probed struct {
	at   time.Time
	held bool
}

// held reports whether somebody holds the lock file of this name.
func (p *probes) held(folder, name string, fresh bool) bool {
	if held, ok := p.known(name); ok && !fresh {
		return held
	}
	held := locked(filepath.Join(folder, name))
	p.know(name, held)
	return held
}

func (p *probes) known(name string) (held, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, ok := p.seen[name]
	return seen.held, ok && time.Since(seen.at) < probeLife
}

func (p *probes) know(name string, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.seen == nil {
		p.seen = map[string]probed{}
	}
	for n, old := range p.seen {
		if now.Sub(old.at) >= probeLife {
			delete(p.seen, n)
		}
	}
	p.seen[name] = probed{now, held}
}

// locked reports whether somebody holds the file's lock. It is asked for together with all
// others that ask, so that they do not take each other for the holder.
func locked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return ignoreMissing(err) != nil // what cannot be known is taken for alive
	}
	defer f.Close()
	free, err := tryShared(f)
	return err != nil || !free
}

// sweepLocks removes the lock files of processes that died before they were holders.
func sweepLocks(folder string, all []holder) {
	known := map[string]bool{}
	for _, h := range all {
		known[h.lock] = true
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return // none is needed
	}
	for _, f := range files {
		if !known[f.Name()] {
			removeIfFree(filepath.Join(folder, f.Name()))
		}
	}
}

// removeIfFree removes a lock file while its lock is held, so that nobody becomes a holder
// by it meanwhile.
func removeIfFree(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if free, err := tryShared(f); err == nil && free {
		_ = os.Remove(path)
	}
}
