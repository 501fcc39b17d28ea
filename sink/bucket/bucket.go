package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/semaphore"

	"github.com/dogear/dogear"
)

const (
	// listName is the object that lists the results.
	listName = "dogear.jsonl"
	// markName is the object that says whose results these are.
	markName = ".dogear-job"
	// maxMark bounds what is read of a mark: no owner is that long.
	maxMark = 64 << 10
	// answerIn is how long one small request may take, with what the library sends again.
	answerIn = time.Minute
)

// Config says which bucket a job saves into.
type Config struct {
	Address Address
	// Owner names the job, and should name its ledger too.
	Owner string
	// Before are what the owner was called before, in order: a job that moved to another ledger
	// takes its prefix over, and where it was before it finds it gone.
	Before []string
	// Scratch is the folder for temporary files, of this job alone. It is made where it is
	// missing.
	Scratch string
	// Join only looks for the mark of the job, and does not make it.
	Join bool
}

// A Sink is a prefix of a bucket that one job saves into. Its methods may be called at once
// from many goroutines, but for the methods of one document's file.
type Sink struct {
	parts   // temporary files, on this machine
	address Address
	store   *store       // the bucket
	results *blob.Bucket // what is under the prefix
	owner   string
	before  []string
	made    bool                // the mark is of this Open
	memory  *semaphore.Weighted // bounds what uploads hold
}

// Open opens the bucket for the job. It proves that the prefix is the job's own or nobody's and,
// where it is nobody's, that it can be written.
//
// Errors are an [*OtherJobError] where the prefix is another job's, else an [*Error] or what
// the system says of the scratch folder. One that matches [fs.ErrNotExist] says, where Join is
// set, that there is no mark.
func Open(ctx context.Context, cfg Config) (*Sink, error) {
	s := &Sink{address: cfg.Address, owner: cfg.Owner, before: cfg.Before, memory: semaphore.NewWeighted(memory)}
	var err error
	// Tokens are asked for later, too.
	if s.store, err = open(context.WithoutCancel(ctx), cfg.Address); err != nil {
		return nil, cfg.Address.fail(ctx, "open", "", err)
	}
	s.results = s.store.Bucket
	if cfg.Address.prefix != "" {
		s.results = blob.PrefixedBucket(s.store.Bucket, cfg.Address.prefix+"/")
	}
	if err := s.claim(ctx, cfg.Join); err != nil {
		return nil, errors.Join(err, s.results.Close())
	}
	if s.parts, err = openParts(cfg.Scratch, cfg.Owner); err != nil {
		return nil, errors.Join(err, s.results.Close())
	}
	return s, nil
}

// Close gives up the bucket.
func (s *Sink) Close() error { return errors.Join(s.results.Close(), s.parts.Sink.Close()) }

// Abandon takes the job's mark away again, if Open made it, and closes the sink: nothing was
// saved here.
func (s *Sink) Abandon(ctx context.Context) error {
	var err error
	if s.made {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerIn)
		defer cancel()
		if e := s.results.Delete(ctx, markName); e != nil {
			err = s.address.fail(ctx, "remove the mark", markName, e)
		}
	}
	return errors.Join(err, s.Close())
}

// A mark is the content of the object that says whose results these are.
type mark struct {
	Owner string `json:"owner"`
	Moved int    `json:"moved,omitempty"` // how often the job has moved
}

// claim marks the prefix as the owner's, or says whose it is.
func (s *Sink) claim(ctx context.Context, join bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	err := s.checkMark(ctx)
	if err == nil || join || gcerrors.Code(errors.Unwrap(err)) != gcerrors.NotFound {
		return s.told(ctx, "read the mark", markName, err)
	}
	if there, err := s.results.Exists(ctx, listName); err != nil {
		return s.told(ctx, "look for", listName, err)
	} else if there {
		return &OtherJobError{Where: s.address.at("")}
	}
	text, err := s.markText()
	if err != nil {
		return err
	}
	err = s.create(ctx, text)
	if err == nil {
		s.made = true
		return s.checkConditions(ctx, text)
	}
	if !taken(err) {
		return s.told(ctx, "mark the prefix with", markName, err)
	}
	return s.told(ctx, "read the mark", markName, s.checkMark(ctx)) // another process was quicker
}

func (s *Sink) markText() ([]byte, error) {
	return json.Marshal(mark{Owner: s.owner, Moved: len(s.before)})
}

func (s *Sink) create(ctx context.Context, text []byte) error {
	return s.results.Upload(ctx, markName, bytes.NewReader(text), &blob.WriterOptions{ContentType: "application/json", IfNotExist: true})
}

// checkConditions creates the mark once more, which has to be refused. A service that knows no
// conditions would replace what is there.
func (s *Sink) checkConditions(ctx context.Context, text []byte) error {
	switch err := s.create(ctx, text); {
	case err == nil:
		return errors.Join(&Error{Do: "save into " + s.address.at(""), Why: "the service replaces what is there though it is told not to: choose another one"},
			s.results.Delete(ctx, markName))
	case !taken(err):
		return s.told(ctx, "mark the prefix with", markName, err)
	}
	return nil
}

// told passes on what is ours, and makes an error of what a library says.
func (s *Sink) told(ctx context.Context, do, name string, err error) error {
	if err == nil {
		return nil
	}
	if other, ok := errors.AsType[*OtherJobError](err); ok {
		return other
	}
	return s.address.fail(ctx, do, name, err)
}

// checkMark reads whose results the prefix holds, and fails where that is not the owner. What
// the owner was called before is marked anew.
func (s *Sink) checkMark(ctx context.Context) error {
	r, err := s.results.NewReader(ctx, markName, nil)
	if err != nil {
		return fmt.Errorf("open it: %w", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxMark))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	var m mark
	if err := json.Unmarshal(text, &m); err != nil || m.Owner == "" {
		return &OtherJobError{Where: s.address.at(""), Owner: "an unreadable mark"}
	}
	if m.Moved < len(s.before) && (m.Owner == s.owner || slices.Contains(s.before, m.Owner)) {
		text, err := s.markText()
		if err == nil {
			err = s.results.Upload(ctx, markName, bytes.NewReader(text), &blob.WriterOptions{ContentType: "application/json"})
		}
		return err
	}
	if m.Owner != s.owner {
		return &OtherJobError{Where: s.address.at(""), Owner: m.Owner}
	}
	return nil
}

// Size is how many bytes a result has. The error matches [fs.ErrNotExist] where there is none.
func (s *Sink) Size(ctx context.Context, path string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	attrs, err := s.results.Attributes(ctx, path)
	if err != nil {
		return 0, s.address.fail(ctx, "look for", path, err)
	}
	return attrs.Size, nil
}

// Open opens a result for reading. Errors are as those of [Sink.Size].
func (s *Sink) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	r, err := s.results.NewReader(ctx, path, nil)
	if err != nil {
		return nil, s.address.fail(ctx, "read", path, err)
	}
	return &result{r, func(err error) error { return s.address.fail(ctx, "read", path, err) }}, nil
}

// result is an object that is read. Its errors are ours.
type result struct {
	*blob.Reader
	fail func(error) error
}

func (r *result) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = r.fail(err)
	}
	return n, err
}

// WriteList replaces the list of results, the one object that is ever replaced.
func (s *Sink) WriteList(ctx context.Context, results iter.Seq2[dogear.Result, error]) error {
	if err := s.parts.Sink.WriteList(ctx, results); err != nil {
		return err
	}
	path := filepath.Join(s.parts.dir, listName)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.upload(ctx, f, listName, object{contentType: "application/x-ndjson", replace: true}); err != nil {
		return err
	}
	return os.Remove(path)
}

// digest names what may be long, or in any script, in an object's metadata.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
