package reader

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
)

const (
	keepFrom   = 8 << 20  // bodies shorter than this are read again from their beginning
	sniffBytes = 64 << 10 // of a page, to tell a login form
)

// body receives a document's body into the sink's temporary file and hands it to the saver
// when it is whole and of the right version.
func (a *attempt) body(x *gate.Exchange) {
	defer x.Response.Body.Close()
	b := &incoming{attempt: a, x: x, resp: x.Response, version: versionOf(x.Response)}
	if b.wrongHead() {
		return
	}
	err := b.receive()
	defer b.tidy()
	switch {
	case err == nil:
		b.whole()
	case errors.Is(err, errSink):
		x.End(dogear.Transient, b.wire, &dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, Reason: "could not be saved"})
		a.run.stop(&Stop{Reason: dogear.SinkFailed, Err: err})
	case errors.Is(err, errTooLarge):
		x.End(dogear.Rejected, b.wire, &dogear.Fate{Doc: a.doc.Seq, State: dogear.Failed, Reason: err.Error()})
		a.ended(dogear.Failed)
	case errors.Is(err, errCoding):
		x.End(dogear.Invalid, b.wire, a.invalid(err.Error()))
	default:
		b.broke(err)
	}
}

// tidy removes the temporary file of a body that is neither saved nor kept.
func (b *incoming) tidy() {
	if b.stays || b.file == nil {
		return
	}
	if err := b.run.Sink.Remove(b.doc.Seq); err != nil {
		b.run.Log.Info("a temporary file stays until the next run", "doc", b.doc.ID, "err", err)
	}
}

// incoming is a body on its way in.
type incoming struct {
	*attempt
	x       *gate.Exchange
	resp    *http.Response
	version string // what the answer says it is of; empty if it does not say

	keep   int64 // bytes that an earlier attempt kept
	size   int64 // bytes of the document so far, those that were kept included
	wire   int64 // bytes of body that came in this answer, as they came
	came   *meter
	coded  bool
	sum    hash.Hash
	said   []digest   // what the service promises of the bytes
	listed *listedSum // what the listing does; nil: it does not
	head   []byte     // the beginning of a page
	file   io.WriteCloser
	stays  bool // the temporary file is still needed
}

var (
	errSink     = errors.New("the sink failed")
	errTooLarge = errors.New("larger than --max-size")
	errCoding   = errors.New("the content coding cannot be undone")
)

// wrongHead deals with an answer whose head tells that its body is not wanted.
func (b *incoming) wrongHead() bool {
	switch listed := b.doc.Version; {
	case b.checks() == "" && dogear.BindingVersion(listed) && !sameVersion(listed, b.resp.Header):
		found := b.version
		b.wire = 0
		b.x.End(dogear.OtherVersion, 0, &dogear.Fate{Doc: b.doc.Seq, State: dogear.Changed, Version: found,
			Reason: "the source has another version than the list"})
		b.ended(dogear.Changed)
		return true
	case b.resp.ContentLength > b.run.set.MaxSize:
		b.x.End(dogear.Rejected, 0, &dogear.Fate{Doc: b.doc.Seq, State: dogear.Failed, Reason: errTooLarge.Error()})
		b.ended(dogear.Failed)
		return true
	case b.x.Status == http.StatusPartialContent:
		if err := b.continues(); err != nil {
			b.forget()
			b.x.End(dogear.Invalid, 0, b.invalid(err.Error()))
			return true
		}
		b.keep = b.part.Size
	}
	if ext := strings.ToLower(path.Ext(b.doc.Name)); b.isPage() && neverPages[ext] {
		b.x.End(dogear.Invalid, drain(b.resp), b.invalid("an HTML page came in place of a "+ext+" document"))
		return true
	}
	return false
}

// continues checks that a 206 goes on exactly where the kept bytes end (K5).
func (b *incoming) continues() error {
	var from, to, total int64
	cr := b.resp.Header.Get("Content-Range")
	switch n, err := fmt.Sscanf(cr, "bytes %d-%d/%d", &from, &to, &total); {
	case b.part.Size == 0:
		return errors.New("a part came that was not asked for")
	case err != nil || n != 3 || from != b.part.Size || to != total-1:
		return errors.New("another part came than was asked for")
	case b.part.Total >= 0 && total != b.part.Total, b.resp.ContentLength >= 0 && b.resp.ContentLength != total-from:
		return errors.New("the document has another length than its kept beginning says")
	case validator(b.resp) != b.part.Validator:
		return errors.New("the document has another version than its kept beginning")
	case b.resp.Header.Get("Content-Encoding") != "":
		return errors.New("a coded part cannot be continued")
	}
	return nil
}

// forget throws away what is kept of the body.
func (b *incoming) forget() {
	ctx, cancel := b.run.finishing()
	defer cancel()
	if err := b.run.Store.SavePartial(ctx, b.doc.Seq, ledger.Partial{}); err != nil {
		b.run.Log.Warn("the kept beginning of a body stays in the ledger", "doc", b.doc.ID, "err", err)
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// receive streams the body to the temporary file, hashing it.
func (b *incoming) receive() (err error) {
	if b.part.Size > 0 && b.keep == 0 {
		b.forget()
	}
	b.sum = sha256.New()
	b.listed = listedDigest(b.doc)
	counted := &meter{r: b.resp.Body, n: &b.wire}
	b.came = counted
	b.said = digests(b.resp.Header)
	for i := range b.said {
		if b.said[i].ofContent {
			counted.tee = append(counted.tee, b.said[i].sum)
		}
	}
	b.resp.Body = counted
	body, coded, err := b.x.Body()
	if err != nil {
		return fmt.Errorf("%w: %w", errCoding, err)
	}
	b.coded = coded
	var prefix io.Reader
	b.file, prefix, err = b.run.Sink.Create(b.doc.Seq, b.keep)
	if err != nil && b.keep > 0 {
		b.forget()
		return fmt.Errorf("the kept beginning of the body is gone: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errSink, err)
	}
	defer func() {
		if e := b.file.Close(); e != nil && err == nil {
			err = fmt.Errorf("%w: %w", errSink, e)
		}
	}()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	if b.keep > 0 {
		if b.size, err = io.CopyBuffer(b.hashes(), prefix, *buf); err != nil || b.size != b.keep {
			b.forget()
			return fmt.Errorf("the kept beginning of the body cannot be read")
		}
	}
	return b.copy(body, *buf)
}

// hashes are all digests of the document's bytes.
func (b *incoming) hashes() io.Writer {
	w := []io.Writer{b.sum}
	for _, d := range b.said {
		if !d.ofContent {
			w = append(w, d.sum)
		}
	}
	if b.listed != nil {
		w = append(w, b.listed)
	}
	if len(w) == 1 {
		return b.sum
	}
	return io.MultiWriter(w...)
}

func (b *incoming) copy(body io.Reader, buf []byte) error {
	sums := b.hashes()
	page := b.isPage()
	for {
		n, err := fill(body, buf)
		if n > 0 {
			if b.size += int64(n); b.size > b.run.set.MaxSize {
				return errTooLarge
			}
			_, _ = sums.Write(buf[:n]) // a hash never fails
			if page && len(b.head) < sniffBytes {
				b.head = append(b.head, buf[:min(n, sniffBytes-len(b.head))]...)
			}
			if _, err := b.file.Write(buf[:n]); err != nil {
				return fmt.Errorf("%w: %w", errSink, err)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && b.came.err == nil: // it came whole, and is not what it says
			return fmt.Errorf("%w: %w", errCoding, err)
		case err != nil:
			return err
		}
	}
}

// fill reads until the buffer is full or the body has ended: a small document is one write.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	return n, err
}

// broke settles a body that was cut: its beginning is kept where it is large and may be
// continued.
func (b *incoming) broke(err error) {
	if v := validator(b.resp); v != "" && b.size >= keepFrom && !b.coded {
		p := ledger.Partial{Size: b.size, Total: -1, Validator: v}
		if b.resp.ContentLength >= 0 {
			p.Total = b.keep + b.resp.ContentLength
		}
		if e := b.keepPart(p); e == nil {
			b.stays = true
		} else {
			b.run.Log.Warn("the beginning of a body is not kept", "doc", b.doc.ID, "err", e)
		}
	}
	if b.run.flight.Err() != nil {
		b.x.End(dogear.Doubtful, b.wire, &dogear.Fate{Doc: b.doc.Seq, State: dogear.InDoubt, Reason: errAborted.Error()})
		return
	}
	b.x.End(dogear.Transient, b.wire, b.transient("the body was cut: "+err.Error(), 0))
}

// whole checks a body that came to its end and hands it to the saver.
func (b *incoming) whole() {
	sum := hex.EncodeToString(b.sum.Sum(nil))
	checks := b.checks() != ""
	switch {
	case checks: // below: where the bytes differ, the service says why
	case b.doc.SHA256 != "" && b.doc.SHA256 != sum:
		b.x.End(dogear.OtherVersion, b.wire, &dogear.Fate{Doc: b.doc.Seq, State: dogear.Changed,
			Version: "sha256:" + sum, Reason: "the bytes are not those that the list promises"})
		b.ended(dogear.Changed)
		return
	case b.doc.Size >= 0 && b.doc.Size != b.size:
		b.x.End(dogear.Invalid, b.wire, b.invalid(fmt.Sprintf("%d bytes came and the list says %d", b.size, b.doc.Size)))
		return
	}
	if b.isLogin() {
		b.x.End(dogear.Invalid, b.wire, b.invalid("a login page came in place of the document"))
		return
	}
	for _, d := range b.said {
		if !d.holds(b.keep > 0, b.coded) {
			b.forget()
			b.x.End(dogear.Invalid, b.wire, b.invalid("the bytes do not have the digest that the service gives: "+d.name))
			return
		}
	}
	if checks && !b.stillListed(sum) {
		b.forget()
		return
	}
	version := b.version
	if dogear.BindingVersion(b.doc.Version) || checks && b.doc.Version != "" {
		version = b.doc.Version
	}
	if version == "" || b.doc.SHA256 != "" && !checks {
		version = "sha256:" + sum
	}
	b.stays = true
	b.x.End(dogear.OK, b.wire, nil)
	ct := b.resp.Header.Get("Content-Type")
	b.run.saves <- saved{doc: b.doc, result: dogear.Result{
		Doc: b.doc.Seq, ID: b.doc.ID, Version: version, Size: b.size, SHA256: sum,
		ContentType: ct[:min(len(ct), 200)], ReadAt: ledger.There(b.run.Store, time.Now()), Run: b.run.id,
	}}
}

func (b *incoming) keepPart(p ledger.Partial) error {
	keep := b.run.Sink.SyncPart
	if d := b.run.direct; d != nil {
		keep = func(doc int64) error { return d.Keep(doc, p.Validator) }
	}
	if err := keep(b.doc.Seq); err != nil {
		return err
	}
	ctx, cancel := b.run.finishing()
	defer cancel()
	return b.run.Store.SavePartial(ctx, b.doc.Seq, p)
}

// neverPages are the endings of documents that an HTML page cannot be.
var neverPages = map[string]bool{".pdf": true, ".doc": true, ".docx": true, ".xls": true, ".xlsx": true, ".ppt": true,
	".pptx": true, ".odt": true, ".ods": true, ".odp": true, ".zip": true, ".gz": true, ".7z": true, ".tar": true,
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".csv": true, ".json": true, ".xml": true, ".epub": true,
	".mp4": true, ".mp3": true, ".parquet": true, ".yaml": true, ".yml": true}

func (b *incoming) isPage() bool {
	t, _, err := mime.ParseMediaType(b.resp.Header.Get("Content-Type"))
	return err == nil && (t == "text/html" || t == "application/xhtml+xml")
}

var (
	passwordField = regexp.MustCompile(`(?i)<input[^>]+type\s*=\s*["']?password`)
	loginTitle    = regexp.MustCompile(`(?i)<title[^>]*>[^<]*(log ?in|sign[ -]?in|登录|登錄|anmelden|connexion)[^<]*</title>`)
	loginPath     = regexp.MustCompile(`(?i)/(login|signin|sign-in|sso|auth|oauth2?|adfs|idp|saml2?)(/|\.|$)`)
)

// isLogin reports whether a page asks for a password and, by its title or by where a
// redirect led, does nothing else.
func (b *incoming) isLogin() bool {
	if len(b.head) == 0 || !passwordField.Match(b.head) {
		return false
	}
	return loginTitle.Match(b.head) || b.hops > 0 && loginPath.MatchString(b.resp.Request.URL.Path)
}

// meter counts what is read, and shows it to the digests of what came over the wire.
type meter struct {
	r   io.ReadCloser
	n   *int64
	tee []hash.Hash
	err error // what broke the connection
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	*m.n += int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	for _, h := range m.tee {
		h.Write(p[:n])
	}
	return n, err
}

func (m *meter) Close() error { return m.r.Close() }
