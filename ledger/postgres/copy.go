package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	copyDocuments = `COPY dogear.documents (seq, lane, id, address, secret, list, line, place, name, version, size, sha256, digest, parent)
		FROM STDIN (FORMAT binary)`

	copyIDs = `COPY dogear.ids (job, hash, seq, rest, print) FROM STDIN (FORMAT binary)`
)

// A copying is rows in the binary form of COPY, encoded as they come: it can be sent again,
// and asks nothing of a session.
type copying struct {
	b    []byte
	rows int
}

var (
	copyHeader = append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...)
	copyEnd    = []byte{0xff, 0xff}
)

func (c *copying) reset() {
	c.b, c.rows = append(c.b[:0], copyHeader...), 0
}

func (c *copying) row(columns int) {
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(columns))
	c.rows++
}

func (c *copying) int64(v int64) {
	c.b = binary.BigEndian.AppendUint32(c.b, 8)
	c.b = binary.BigEndian.AppendUint64(c.b, uint64(v))
}

func (c *copying) int32(v int32) {
	c.b = binary.BigEndian.AppendUint32(c.b, 4)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(v))
}

func (c *copying) int16(v int16) {
	c.b = binary.BigEndian.AppendUint32(c.b, 2)
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(v))
}

func (c *copying) bool(v bool) {
	c.b = binary.BigEndian.AppendUint32(c.b, 1)
	if v {
		c.b = append(c.b, 1)
	} else {
		c.b = append(c.b, 0)
	}
}

func (c *copying) text(s string) {
	s = kept(s)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(s)))
	c.b = append(c.b, s...)
}

// bytes is NULL where there are none.
func (c *copying) bytes(b []byte) {
	if b == nil {
		c.null()
		return
	}
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(b)))
	c.b = append(c.b, b...)
}

func (c *copying) null() { c.b = binary.BigEndian.AppendUint32(c.b, 0xffffffff) }

// document adds a row of copyDocuments.
func (c *copying) document(d dogear.Document, lane int64) {
	c.row(14)
	c.listed(d, lane)
}

// listed adds the columns of copyDocuments.
func (c *copying) listed(d dogear.Document, lane int64) {
	c.int64(d.Seq)
	c.int64(lane)
	c.text(d.ID)
	if d.Secret || d.Address == d.ID {
		c.null()
	} else {
		c.text(d.Address)
	}
	c.bool(d.Secret)
	c.int32(int32(d.List))
	c.int64(d.Line)
	c.int64(d.Offset)
	c.text(d.Name)
	c.text(d.Version)
	c.int64(max(d.Size, -1))
	c.bytes(digest(d.SHA256))
	c.text(d.Digest)
	if d.Parent == "" {
		c.null()
	} else {
		c.text(d.Parent)
	}
}

// id adds a row of copyIDs.
func (c *copying) id(job, hash, seq, rest, print int64) {
	c.row(5)
	c.int64(job)
	c.int64(hash)
	c.int64(seq)
	c.int64(rest)
	c.int64(print)
}

// imported adds a row of copyImported.
func (c *copying) imported(r *ledger.DocumentRecord, seq, lane int64, now time.Time) error {
	d := dogear.Document{Seq: seq, ID: r.ID, Address: r.Address, Secret: r.Secret, List: r.List, Line: r.Line, Offset: r.Offset,
		Name: r.Name, Parent: r.Parent, Version: r.Version, SHA256: r.SHA256, Digest: r.Digest, Size: -1}
	if d.Address == "" {
		d.Address = d.ID
	}
	if r.Size != nil {
		d.Size = *r.Size
	}
	var notBefore int64
	if r.Delay > 0 {
		notBefore = nanos(now.Add(r.Delay))
	}
	var partial []byte
	if r.Partial != nil {
		var err error
		if partial, err = json.Marshal(r.Partial); err != nil {
			return err
		}
	}
	c.row(20)
	c.listed(d, lane)
	c.int16(int16(r.State))
	c.int32(int32(r.Attempts))
	c.int64(notBefore)
	c.text(r.Reason)
	c.text(r.Found)
	c.text(string(partial))
	return nil
}

// result adds a row of copyResults.
func (c *copying) result(doc, run, folded int64, r *ledger.ResultRecord) {
	c.row(9)
	c.int64(doc)
	c.int64(run)
	c.int64(folded)
	c.int64(r.Size)
	c.int64(nanos(r.ReadAt))
	c.text(r.Version)
	c.text(r.Path)
	c.bytes(digest(r.SHA256))
	c.text(r.ContentType)
}

// unplaced adds a row of copyUnplaced.
func (c *copying) unplaced(doc int64, temp, folded string) {
	c.row(3)
	c.int64(doc)
	c.text(temp)
	c.text(folded)
}

// request adds a row of copyRequests. N, Parent and Run are this ledger's.
func (c *copying) request(job, set int64, q *ledger.RequestRecord) {
	var doc int64
	if q.Place != nil {
		after, _ := rangeOf(job)
		doc = after + 1 + *q.Place
	}
	c.row(16)
	c.int64(q.N)
	c.int64(job)
	c.int64(q.Run)
	c.int64(doc)
	c.int64(q.Parent)
	c.int64(0)
	c.int64(set)
	for _, at := range []time.Time{q.Granted, q.Sent, q.Ended, q.Until} {
		c.int64(nanos(at))
	}
	c.int64(q.Bytes)
	c.int32(int32(q.Status))
	c.int16(int16(q.Kind))
	c.int16(int16(q.Outcome))
	c.text(q.Hint)
}

// copy sends the rows in a transaction that has begun.
func (c *copying) copy(ctx context.Context, tx *tx, statement string) error {
	r := &lent{b: append(c.b, copyEnd...)}
	defer r.back()
	_, err := tx.conn.PgConn().CopyFrom(ctx, r, statement)
	return err
}

// A lent is rows that pgx reads until they are taken back: where the connection breaks,
// CopyFrom returns before its goroutine has ended, and the rows are about to be written anew.
type lent struct {
	mu sync.Mutex
	b  []byte
}

func (l *lent) Read(p []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.b) == 0 {
		return 0, io.EOF
	}
	n = copy(p, l.b)
	l.b = l.b[n:]
	return n, nil
}

func (l *lent) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = nil
}
