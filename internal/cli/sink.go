package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
	"github.com/dogear/dogear/reader"
	"github.com/dogear/dogear/sink/folder"
)

// A sink is where a job's results are saved.
type sink interface {
	reader.Sink
	// Open opens a result for reading.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Abandon gives up a sink that nothing was saved in.
	Abandon(ctx context.Context) error
	Close() error
}

// A folderSink is a folder, whose calls take no time to speak of.
type folderSink struct{ *folder.Sink }

func (f folderSink) Open(_ context.Context, path string) (io.ReadCloser, error) {
	return f.Sink.Open(path)
}
func (f folderSink) Abandon(context.Context) error { return f.Sink.Abandon() }

// sinkAddress is -o in the form that the ledger keeps: a folder's absolute path, or a bucket's
// address.
func sinkAddress(out string) (string, error) {
	if service, _, ok := strings.Cut(out, ":/"); ok && slices.Contains([]string{"s3", "gs", "azblob", "file"}, service) && !strings.Contains(out, "://") {
		return "", usage("-o: the address of a bucket begins with %s://", service)
	}
	if !strings.Contains(out, "://") {
		abs, err := filepath.Abs(out)
		if err != nil {
			return "", &codedError{code: exitCantCreate, err: err}
		}
		return abs, nil
	}
	if strings.HasPrefix(strings.ToLower(out), "file:") {
		return folderOf(out)
	}
	return bucketAddress(out)
}

var drive = regexp.MustCompile(`^/[A-Za-z]:/`)

// folderOf is the folder that a file address names.
func folderOf(out string) (string, error) {
	u, err := url.Parse(out)
	if err != nil || u.User != nil || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") {
		return "", usage("-o: the address of a folder is file:///PATH and nothing more")
	}
	if drive.MatchString(u.Path) {
		u.Path = u.Path[1:]
	}
	return filepath.Abs(filepath.FromSlash(u.Path))
}

// isBucket tells the sinks of the ledger apart.
func isBucket(kept string) bool { return strings.Contains(kept, "://") }

// sinkKind is what people call it.
func sinkKind(kept string) string {
	if isBucket(kept) {
		return "prefix"
	}
	return "folder"
}

// freeSink checks that no job of the ledger saves into a sink.
func freeSink(ctx context.Context, s ledger.Store, set ledger.Settings) error {
	other, err := s.SinkJob(ctx, set.Sink)
	if err != nil {
		return &codedError{code: exitIO, err: err}
	}
	if other != "" {
		kind := sinkKind(set.Sink)
		return &codedError{code: exitCantCreate, err: fmt.Errorf("the %s %s belongs to job %q", kind, set.SinkShown, other), try: "another " + kind + " with -o"}
	}
	return nil
}

// openSink opens the sink of a job. With join it has to be the job's already.
func openSink(ctx context.Context, s ledger.Store, name string, set ledger.Settings, join bool) (sink, error) {
	owner := name + " in " + s.Name()
	var before []string
	for _, where := range set.Before {
		before = append(before, name+" in "+where)
	}
	if !isBucket(set.Sink) {
		out, err := folder.Open(set.Sink, owner, before...)
		if err != nil {
			return nil, &codedError{code: exitCantCreate, err: err}
		}
		return folderSink{out}, nil
	}
	dir, err := scratchOf(s, name)
	if err != nil {
		return nil, &codedError{code: exitCantCreate, err: err}
	}
	out, err := openBucket(ctx, set.Sink, dir, owner, before, join)
	if _, wrong := errors.AsType[*usageError](err); wrong {
		return nil, err
	}
	if join && errors.Is(err, fs.ErrNotExist) {
		return nil, &codedError{code: exitCantCreate, err: fmt.Errorf("%s does not hold the results of job %s: %w", set.SinkShown, name, err)}
	}
	if ctx.Err() != nil {
		return nil, &codedError{code: cancelCode(ctx), err: errors.New("stopped before anything was sent")}
	}
	if err != nil {
		return nil, &codedError{code: exitCantCreate, err: err}
	}
	return out, nil
}

// scratchOf is the folder for what a job has on its way into a bucket.
func scratchOf(s ledger.Store, name string) (string, error) {
	path, err := sqlite.DefaultPath()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(name + " in " + s.Name()))
	return filepath.Join(filepath.Dir(path), "scratch", hex.EncodeToString(sum[:8])), nil
}

// removeScratch removes what a forgotten job had on its way.
func removeScratch(s ledger.Store, job ledger.Job) error {
	if !isBucket(job.Settings.Sink) {
		return nil
	}
	dir, err := scratchOf(s, job.Name)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
