package sqlite

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"syscall"
)

const (
	entriesKept = 1 << 17 // 4 MiB
	entriesFan  = 128
	entryBytes  = 28
)

// entries are put in order in bounded memory, however many they are. What memory does not
// hold goes to a file, in runs that are in order; the end merges them.
type entries struct {
	folder string
	max    int // entries in memory
	fan    int // runs that are merged at once
	kept   []entry
	runs   []run
	file   *os.File // nil while memory holds all
	size   int64    // of file
}

// An entry is what a listing remembers of a document: hashes and numbers only.
type entry struct {
	hash  int64  // of its id, as in the table ids
	rest  uint64 // more of the same digest: both together are taken for the id
	print uint64 // its fingerprint
	n     uint32 // its place in the list, counted from 0
}

// A run is a part of the file that is in order.
type run struct{ at, n int64 }

func newEntries(folder string) entries {
	return entries{folder: folder, max: entriesKept, fan: entriesFan}
}

func (e entry) compare(o entry) int {
	if c := cmp.Compare(e.hash, o.hash); c != 0 {
		return c
	}
	if c := cmp.Compare(e.rest, o.rest); c != 0 {
		return c
	}
	return cmp.Compare(e.n, o.n)
}

func (es *entries) add(e entry) error {
	if len(es.kept) == es.max {
		if err := es.spill(); err != nil {
			return err
		}
	}
	es.kept = append(es.kept, e)
	return nil
}

// spill makes a run of what is in memory.
func (es *entries) spill() error {
	if es.file == nil {
		f, err := os.CreateTemp(es.folder, "list-")
		if err != nil {
			return err
		}
		es.file = f
		_ = os.Remove(f.Name()) // Windows removes no open file: close does it then, or who sweeps the folder
	}
	slices.SortFunc(es.kept, entry.compare)
	err := es.write(func(yield func(entry, error) bool) {
		for _, e := range es.kept {
			if !yield(e, nil) {
				return
			}
		}
	})
	es.kept = es.kept[:0]
	return err
}

// write adds a run to the file.
func (es *entries) write(all iter.Seq2[entry, error]) error {
	r := run{at: es.size}
	w := bufio.NewWriterSize(io.NewOffsetWriter(es.file, es.size), 1<<16)
	var b [entryBytes]byte
	for e, err := range all {
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(b[0:], uint64(e.hash))
		binary.LittleEndian.PutUint64(b[8:], e.rest)
		binary.LittleEndian.PutUint64(b[16:], e.print)
		binary.LittleEndian.PutUint32(b[24:], e.n)
		if _, err := w.Write(b[:]); err != nil {
			return sortError(err)
		}
		r.n++
	}
	if err := w.Flush(); err != nil {
		return sortError(err)
	}
	es.size += r.n * entryBytes
	es.runs = append(es.runs, r)
	return nil
}

func sortError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		err = &fullError{err}
	}
	return fmt.Errorf("put the list's ids in order: %w", err)
}

// sorted yields all by hash, rest and place, once.
func (es *entries) sorted() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		if es.file == nil {
			slices.SortFunc(es.kept, entry.compare)
			for _, e := range es.kept {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		err := es.spill()
		es.kept = nil
		for len(es.runs) > es.fan && err == nil {
			first := es.runs[:es.fan]
			es.runs = es.runs[es.fan:]
			err = es.write(es.merge(first))
		}
		if err != nil {
			yield(entry{}, err)
			return
		}
		es.merge(es.runs)(yield)
	}
}

// merge yields runs as one that is in order.
func (es *entries) merge(runs []run) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var heads heads
		for _, r := range runs {
			part := io.NewSectionReader(es.file, r.at, r.n*entryBytes)
			heads = append(heads, &head{from: bufio.NewReaderSize(part, 1<<14)})
		}
		for _, h := range heads {
			if err := h.next(); err != nil { // no run is empty
				yield(entry{}, sortError(err))
				return
			}
		}
		heap.Init(&heads)
		for len(heads) > 0 {
			if !yield(heads[0].entry, nil) {
				return
			}
			switch err := heads[0].next(); err {
			case nil:
				heap.Fix(&heads, 0)
			case io.EOF:
				heap.Pop(&heads)
			default:
				yield(entry{}, sortError(err))
				return
			}
		}
	}
}

// close forgets all and gives the file back.
func (es *entries) close() {
	if es.file != nil {
		_ = es.file.Close() // what it held is not wanted any more
		_ = os.Remove(es.file.Name())
	}
	es.kept, es.runs, es.file, es.size = nil, nil, nil, 0
}

// A head is the first entry of a run that is not merged yet.
type head struct {
	entry
	from *bufio.Reader
}

// next reads the run's next entry. The error is io.EOF at the run's end.
func (h *head) next() error {
	var b [entryBytes]byte
	if _, err := io.ReadFull(h.from, b[:]); err != nil {
		return err
	}
	h.entry = entry{
		hash:  int64(binary.LittleEndian.Uint64(b[0:])),
		rest:  binary.LittleEndian.Uint64(b[8:]),
		print: binary.LittleEndian.Uint64(b[16:]),
		n:     binary.LittleEndian.Uint32(b[24:]),
	}
	return nil
}

// heads are a heap, the least entry first.
type heads []*head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].compare(h[j].entry) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*head)) }

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
