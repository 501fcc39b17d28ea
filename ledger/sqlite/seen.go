package sqlite

import (
	"cmp"
	"iter"
	"slices"
)

// seen are the ids that a listing has met, by their hashes. It is in parts, each of a range
// of hashes, so that it can be put in order without as much memory again.
type seen struct {
	parts  [64]map[int64]uint32
	twins  map[int64][]uint32 // what else has a hash: hardly ever anything
	prints [][]uint64         // the nth document's fingerprint is prints[n/printRows][n%printRows]
}

const printRows = 1 << 16

// part is where a hash belongs: parts follow each other in the order of numbers with a sign.
func part(h int64) int { return int((uint64(h) ^ 1<<63) >> 58) }

// at are the documents with a hash, counted from 0.
func (s *seen) at(h int64) []uint32 {
	n, ok := s.parts[part(h)][h]
	if !ok {
		return nil
	}
	return append([]uint32{n}, s.twins[h]...)
}

// add adds the nth document; documents are added in order.
func (s *seen) add(h int64, n uint32, fingerprint uint64) {
	m := s.parts[part(h)]
	if m == nil {
		m = map[int64]uint32{}
		s.parts[part(h)] = m
	}
	if _, ok := m[h]; !ok {
		m[h] = n
	} else {
		if s.twins == nil {
			s.twins = map[int64][]uint32{}
		}
		s.twins[h] = append(s.twins[h], n)
	}
	if n%printRows == 0 {
		s.prints = append(s.prints, make([]uint64, 0, printRows))
	}
	last := &s.prints[len(s.prints)-1]
	*last = append(*last, fingerprint)
}

func (s *seen) print(n uint32) uint64 { return s.prints[n/printRows][n%printRows] }

type seenID struct {
	hash int64
	n    uint32
}

// sorted yields all in the order of their hashes, at most max at a time, and forgets them.
func (s *seen) sorted(max int) iter.Seq[[]seenID] {
	return func(yield func([]seenID) bool) {
		var ids []seenID
		for i, m := range s.parts {
			ids = ids[:0]
			for h, n := range m {
				ids = append(ids, seenID{h, n})
				for _, twin := range s.twins[h] {
					ids = append(ids, seenID{h, twin})
				}
			}
			s.parts[i] = nil
			slices.SortFunc(ids, func(a, b seenID) int {
				return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.n, b.n))
			})
			for part := range slices.Chunk(ids, max) {
				if !yield(part) {
					return
				}
			}
		}
	}
}
