package sqlite

import (
	"cmp"
	"iter"
	"slices"
)

// seen are the ids that a listing has met, by their hashes: some thirty bytes of memory for
// each. It is in parts, each of a range of hashes, so that it can be put in order without
// as much memory again.
type seen struct {
	parts [64]map[int64]met
	twins map[int64][]met // what else has a hash: hardly ever anything
}

// A met is a document that the listing has met.
type met struct {
	n uint32 // its place in the list, counted from 0
	// print is the fingerprint in half its width: two addresses of one id are taken for
	// the same once in 2^32 times that a list has such a fault.
	print uint32
}

func newMet(n int64, fingerprint uint64) met {
	return met{uint32(n), uint32(fingerprint) ^ uint32(fingerprint>>32)}
}

// part is where a hash belongs: parts follow each other in the order of numbers with a sign.
func part(hash int64) int { return int((uint64(hash) ^ 1<<63) >> 58) }

// at are the documents with a hash.
func (s *seen) at(hash int64) (m met, twins []met, ok bool) {
	m, ok = s.parts[part(hash)][hash]
	if ok && s.twins != nil {
		twins = s.twins[hash]
	}
	return m, twins, ok
}

func (s *seen) add(hash int64, m met) {
	p := s.parts[part(hash)]
	if p == nil {
		p = map[int64]met{}
		s.parts[part(hash)] = p
	}
	if _, ok := p[hash]; !ok {
		p[hash] = m
		return
	}
	if s.twins == nil {
		s.twins = map[int64][]met{}
	}
	s.twins[hash] = append(s.twins[hash], m)
}

type seenID struct {
	hash int64
	n    uint32
}

// sorted yields all in the order of their hashes, at most max at a time, and forgets them.
func (s *seen) sorted(max int) iter.Seq[[]seenID] {
	return func(yield func([]seenID) bool) {
		var ids []seenID
		for i, p := range s.parts {
			ids = ids[:0]
			for hash, m := range p {
				ids = append(ids, seenID{hash, m.n})
				for _, twin := range s.twins[hash] {
					ids = append(ids, seenID{hash, twin.n})
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
