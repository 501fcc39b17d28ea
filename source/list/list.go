// Package list reads lists of addresses: files with one address a line (.txt), with a header
// and columns (.csv) or with one JSON object a line (.jsonl), standard input, and the single
// address that was given on the command line.
//
// Think of it as a stream with a way back. Documents come one by one, in constant memory
// however long the list is, each with the line and the offset at which it is named. What is
// secret in an address is in no id, name or version; so that it need not be stored anywhere
// else either, [List.Address] goes back to the offset and reads the address again.
//
//	l, err := list.Open("policies.txt")
//	…
//	for doc, err := range l.Documents(0, scopesOf) {
//
// Nothing here sends anything.
package list

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"net/url"
	"os"
	"sync"

	"github.com/dogear/dogear"
)

// What callers may match, beside [LineError] and the errors of package io/fs.
var (
	// ErrMoved says that the list no longer names the document where it did.
	ErrMoved = errors.New("the list has changed: the document is no longer where it was")
	// ErrSecret says that a list which cannot be read again names an address with a
	// credential or a signature.
	ErrSecret = errors.New("the address holds a credential or a signature: save the list as a file, so that resume can read it again")
)

// A LineError says what is wrong with one line, in words that show nothing of it: it may
// hold a credential. Of a record of several lines it names the first.
type LineError struct {
	Path string
	Line int64
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// A List names documents. Its methods are safe for concurrent use.
type List struct {
	name   string // for messages
	format Format
	file   *os.File  // nil if the list cannot be read again
	stream io.Reader // read once
	one    string    // the single address of a list that is no list

	header func() (columns, error) // of a .csv file

	mu     sync.Mutex
	digest string
}

// Open opens a list by the extension of its path: .txt, .csv or .jsonl.
func Open(path string) (*List, error) {
	name := dogear.StripText(path) // a mistyped address comes by here too
	format, err := formatOf(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	info, err := os.Stat(path) // opening a pipe would wait for its other end
	switch {
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", name, reason(err))
	case info.IsDir():
		return nil, fmt.Errorf("list %s: is a folder: name a file in it", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("list %s: is no regular file, so that resume could not read it again: save it as one", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, reason(err))
	}
	if _, err := start(bufio.NewReaderSize(io.NewSectionReader(file, 0, 4), 16)); err != nil {
		file.Close()
		return nil, fmt.Errorf("list %s: %w", name, reason(err))
	}
	l := &List{name: name, format: format, file: file}
	l.header = sync.OnceValues(l.readHeader)
	return l, nil
}

// Reader is a list that can be read once, such as standard input. It refuses addresses with
// a credential or a signature ([ErrSecret]): nobody could read them again.
func Reader(name string, r io.Reader, format Format) *List {
	return &List{name: dogear.StripText(name), format: format, stream: r}
}

// One is the list of a single http or https address. Its document has no line. An address
// with a credential or a signature is kept by the List alone: a later process has to be told
// it again.
func One(address string) (*List, error) {
	doc, err := new(origins).document(record{url: address})
	if err != nil {
		return nil, err
	}
	return &List{name: doc.ID, one: address}, nil
}

// Close closes the list's file, if it has one.
func (l *List) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Documents are the documents of the list, in its order; index is the number that they have
// as [dogear.Document.List]. What is named twice comes twice. The first line that is wrong
// ends the sequence with a [*LineError].
//
// The keys of a document's scopes come from scopes, which sees only the scheme and the host
// of an address: it is not asked again for one that came before. A nil scopes gives none.
func (l *List) Documents(index int, scopes func(*url.URL) []string) iter.Seq2[dogear.Document, error] {
	return func(yield func(dogear.Document, error) bool) {
		origins := &origins{scopes: scopes}
		if l.one != "" {
			doc, err := origins.document(record{url: l.one, size: -1})
			doc.List = index
			if yield(doc, err) {
				l.setDigest(hexSum(sha256.Sum256([]byte(doc.ID))))
			}
			return
		}
		sum := sha256.New()
		records, err := l.records(io.TeeReader(l.input(), sum))
		if err != nil {
			yield(dogear.Document{}, l.fail(record{line: 1}, err))
			return
		}
		for {
			rec, err := records.next()
			if err == io.EOF {
				l.setDigest(hexSum([sha256.Size]byte(sum.Sum(nil))))
				return
			}
			var doc dogear.Document
			if err == nil {
				doc, err = origins.document(rec)
			}
			if err == nil && doc.Secret && l.file == nil {
				err = ErrSecret
			}
			if err != nil {
				yield(dogear.Document{}, l.fail(rec, err))
				return
			}
			doc.List = index
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// Digest is the SHA-256 of the list's bytes in lower-case hex; empty until Documents was
// read to its end. For a single address it is that of the address without secrets.
func (l *List) Digest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.digest
}

// DigestFile is what [List.Digest] would be for the list at path, without reading its lines.
func DigestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", dogear.StripText(path), reason(err))
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("list %s: %w", dogear.StripText(path), reason(err))
	}
	return hexSum([sha256.Size]byte(sum.Sum(nil))), nil
}

// Address reads a document's address again, with all that is secret in it. The error matches
// [ErrMoved] if the list no longer names the document there.
func (l *List) Address(doc dogear.Document) (string, error) {
	var found dogear.Document
	var err error
	switch {
	case l.one != "":
		found, err = new(origins).document(record{url: l.one})
	case l.file == nil:
		found = doc
	default:
		found, err = l.at(doc.Offset)
	}
	if _, wrong := errors.AsType[*LineError](err); err != nil && !wrong {
		return "", err
	}
	if err != nil || found.ID != doc.ID || found.Address == "" {
		return "", &LineError{Path: l.name, Line: doc.Line, Err: ErrMoved}
	}
	return found.Address, nil
}

// at is the document that the list's file names at an offset.
func (l *List) at(offset int64) (dogear.Document, error) {
	records, err := l.recordsAt(offset)
	if err != nil {
		return dogear.Document{}, l.fail(record{}, err)
	}
	rec, err := records.next()
	if err == io.EOF {
		err = ErrMoved
	}
	var doc dogear.Document
	if err == nil {
		doc, err = new(origins).document(rec)
	}
	if err != nil {
		return dogear.Document{}, l.fail(rec, err)
	}
	return doc, nil
}

// input is the list's bytes from the beginning.
func (l *List) input() io.Reader {
	if l.file != nil {
		return io.NewSectionReader(l.file, 0, math.MaxInt64)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.stream
	l.stream = errReader{errors.New("has been read already")}
	return r
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func (l *List) setDigest(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digest = digest
}

// fail says what failed: a line, or reading.
func (l *List) fail(rec record, err error) error {
	if _, ok := errors.AsType[*readError](err); ok {
		return fmt.Errorf("list %s: %w", l.name, reason(err))
	}
	return &LineError{Path: l.name, Line: cmp.Or(rec.line, 1), Err: err}
}

// reason is an error of the file system without the path, which the caller's words hold.
func reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

func hexSum(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }
