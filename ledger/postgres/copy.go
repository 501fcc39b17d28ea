package postgres

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/dogear/dogear"
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

// copy sends the rows in a transaction that has begun.
func (c *copying) copy(ctx context.Context, tx *tx, statement string) error {
	r := bytes.NewReader(append(c.b, copyEnd...))
	_, err := tx.conn.PgConn().CopyFrom(ctx, r, statement)
	return err
}
