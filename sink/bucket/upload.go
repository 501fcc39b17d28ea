package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"mime"
	"os"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azblobblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/dogear/dogear"
)

const (
	// partLeast is the smallest part of a large upload, and the largest body that is sent in
	// one request.
	partLeast = 8 << 20
	// partsMost is how many parts an upload has; S3 takes 10000.
	partsMost = 9000
	// atOnce is how many parts of one body are on their way.
	atOnce = 4
	// memory bounds what all uploads hold together: large ones go one or two at a time.
	memory = 128 << 20
	// stall is how long an upload may go without taking any of its body.
	stall = 2 * time.Minute
	// abortIn is how long it may take to give up the parts of a failed upload, also when the
	// command has to be gone.
	abortIn = 1500 * time.Millisecond
	// looks is how often an upload is tried that another writer of the name was in the way of
	// without leaving anything.
	looks = 4
)

// What an object says of itself.
const (
	metaJob = "dogearjob"
	metaDoc = "dogeardoc"
	metaSum = "dogearsha256"
)

// Put uploads a document's closed temporary file as res.Path. It is durable then, and the
// service has checked what it received. Where the path has this very result already, of an
// upload before a crash, that counts; where it has anything else the error matches
// [fs.ErrExist]. Nothing is replaced, and nothing half is left.
func (s *Sink) Put(ctx context.Context, res dogear.Result) error {
	meta := map[string]string{metaJob: digest(s.owner), metaDoc: digest(res.ID), metaSum: res.SHA256}
	var err error
	for try := range looks {
		if err = s.put(ctx, res, meta); err == nil || !taken(err) {
			break
		}
		there, e := s.results.Attributes(ctx, res.Path)
		switch {
		case gcerrors.Code(e) == gcerrors.NotFound: // S3 refuses also where another writer has only begun
			wait(ctx, time.Duration(try+1)*time.Second)
			continue
		case e != nil:
			return s.address.fail(ctx, "look at", res.Path, e)
		case there.Size == res.Size && same(there.Metadata, meta):
			return nil
		}
		return &Error{Do: "save as " + s.address.at(res.Path), Why: "something else has this name", is: fs.ErrExist}
	}
	if err != nil {
		return s.told(ctx, "save as", res.Path, err)
	}
	return nil
}

func same(has, want map[string]string) bool {
	for k, v := range want {
		if has[k] != v {
			return false
		}
	}
	return true
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// taken reports whether a conditional create was refused for what is there.
func taken(err error) bool {
	var api smithy.APIError
	return gcerrors.Code(err) == gcerrors.FailedPrecondition || errors.As(err, &api) && api.ErrorCode() == "ConditionalRequestConflict"
}

func (s *Sink) put(ctx context.Context, res dogear.Result, meta map[string]string) error {
	f, err := os.Open(s.part(res.Doc))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.upload(ctx, f, res.Path, object{contentType: res.ContentType, meta: meta, size: res.Size, sha256: res.SHA256})
}

// An object is what an upload makes.
type object struct {
	contentType string
	meta        map[string]string
	replace     bool
	size        int64
	sha256      string // empty: not known
}

// upload sends a body. What it reads is hashed once more on the way, so that an object with
// other bytes than the ledger will name never comes to be.
func (s *Sink) upload(ctx context.Context, f *os.File, name string, o object) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if o.sha256 == "" {
		o.size = info.Size()
	}
	part := max(partLeast, o.size/partsMost)
	weight := min(o.size+1, part)
	if o.size >= part {
		weight = min(part*(atOnce+2), memory)
	}
	if err := s.memory.Acquire(ctx, weight); err != nil {
		return err
	}
	defer s.memory.Release(weight)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watch.Stop()
	body := &checked{r: f, h: sha256.New(), want: o, read: func() { watch.Reset(stall) }, broke: cancel}
	err = s.results.Upload(ctx, name, body, &blob.WriterOptions{
		ContentType: typeOf(o.contentType), Metadata: o.meta, IfNotExist: !o.replace,
		BufferSize: int(min(part, max(1<<20, o.size+1))), MaxConcurrency: atOnce,
		BeforeWrite: func(as func(any) bool) error { return s.beforeWrite(as, part) },
	})
	if errors.Is(context.Cause(ctx), errStalled) {
		return s.address.fail(ctx, "save as", name, err)
	}
	return err
}

// beforeWrite asks each service's library for what gocloud has no words for: that the service
// checks what it receives, and that parts are given up though the context is done.
func (s *Sink) beforeWrite(as func(any) bool, part int64) error {
	var s3 *transfermanager.Client
	var azure *azblob.UploadStreamOptions
	var gcs *storage.Writer
	switch {
	case as(&s3):
		*s3 = *transfermanager.New(s.store.s3, func(o *transfermanager.Options) {
			o.PartSizeBytes, o.MultipartUploadThreshold, o.Concurrency = part, part, atOnce
			o.RequestChecksumCalculation, o.FailTimeout = s.store.checksums, abortIn
		})
	case as(&azure):
		azure.TransactionalValidation = azblobblob.TransferValidationTypeComputeCRC64()
	case as(&gcs): // it sends a checksum by itself
		gcs.ChunkRetryDeadline = stall
	}
	return nil
}

// typeOf is a media type that every service takes.
func typeOf(said string) string {
	if t, params, err := mime.ParseMediaType(said); err == nil {
		if said = mime.FormatMediaType(t, params); said != "" {
			return said
		}
	}
	return "application/octet-stream"
}

// checked is a body that ends in an error where it is not what it should be.
type checked struct {
	r    io.Reader
	h    hash.Hash
	n    int64
	want object
	read func()
	// broke ends the upload: gocloud commits what a writer has taken, also after an error of
	// the reader.
	broke context.CancelCauseFunc
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	_, _ = c.h.Write(p[:n]) // a hash never fails
	if n > 0 {
		c.read()
	}
	if err == io.EOF && c.want.sha256 != "" && (c.n != c.want.size || hex.EncodeToString(c.h.Sum(nil)) != c.want.sha256) {
		err = &differsError{c.n, c.want.size}
	}
	if err != nil && err != io.EOF {
		c.broke(err)
	}
	return n, err
}

// A differsError says that a temporary file is not what was received.
type differsError struct{ has, want int64 }

func (e *differsError) Error() string {
	return fmt.Sprintf("its temporary file has changed (%d bytes, %d were received): look at the disk of this machine", e.has, e.want)
}
