package standin

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"time"
)

const listPath = "/v1.0/documents"

// Pages say how documents are listed at /v1.0/documents.
type Pages struct {
	Size int // documents on a page. Zero means 100
	// Cursor is how long the address of a next page is good. Zero means for ever.
	Cursor time.Duration
}

// An entry is a document of a manifest.
type entry struct {
	URL     string `json:"url"`
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256,omitempty"`
}

func (s *Service) entry(n int) entry {
	e := entry{URL: s.URL("/doc/" + strconv.Itoa(n)), ID: strconv.Itoa(n), Size: s.size(n)}
	version := s.version(n)
	switch {
	case s.cfg.Validators.etag():
		e.Version = ETag(n, e.Size, version)
	case s.cfg.Validators.modified():
		e.Version = Modified(n, version).Format(http.TimeFormat)
	}
	if s.cfg.Digests {
		e.SHA256 = Sum(BodyOf(n, e.Size, version))
	}
	return e
}

// firstDocument is the first that is listed.
func (s *Service) firstDocument() int { return max(1, s.cfg.First) }

// manifest answers with a list of the service's documents, one a line.
func (s *Service) manifest(x *Exchange) {
	if s.cfg.Last == 0 {
		x.Status(http.StatusNotFound)
		return
	}
	var b bytes.Buffer
	kind := plainText
	table, lines := csv.NewWriter(&b), json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	ext := path.Ext(x.R.URL.Path)
	columns := []string{"url", "id", "version", "size", "sha256"}
	if !s.cfg.Digests {
		columns = columns[:4]
	}
	if ext == ".csv" {
		_ = table.Write(columns) // into memory, as all below
	}
	for n := s.firstDocument(); n <= s.cfg.Last; n++ {
		e := s.entry(n)
		switch ext {
		case ".csv":
			kind = "text/csv; charset=utf-8"
			_ = table.Write([]string{e.URL, e.ID, e.Version, strconv.Itoa(e.Size), e.SHA256}[:len(columns)])
		case ".jsonl":
			kind = "application/jsonl"
			_ = lines.Encode(e)
		default:
			b.WriteString(e.URL + "\n")
		}
	}
	table.Flush()
	x.Page(http.StatusOK, kind, b.String())
}

// An item is a document of a page, as Graph writes it.
type item struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	ETag     string `json:"eTag,omitempty"`
	Modified string `json:"lastModifiedDateTime,omitempty"`
	Size     int    `json:"size"`
	Download string `json:"@microsoft.graph.downloadUrl"`
}

func (s *Service) item(n int) item {
	e := s.entry(n)
	it := item{ID: e.ID, Name: e.ID + ".bin", Size: e.Size, Download: s.download(n)}
	if s.cfg.Validators.etag() {
		it.ETag = e.Version
	}
	if s.cfg.Validators.modified() {
		it.Modified = Modified(n, s.version(n)).Format(time.RFC3339)
	}
	return it
}

// download is where a listing says that document n can be had.
func (s *Service) download(n int) string {
	if s.cfg.Links != nil {
		return s.cfg.Links.sign(s, n, nil)
	}
	return s.URL("/doc/" + strconv.Itoa(n))
}

// page answers with a page of the listing.
func (s *Service) page(x *Exchange) {
	if s.cfg.Last == 0 {
		x.Status(http.StatusNotFound)
		return
	}
	size := s.cfg.Pages.Size
	if size == 0 {
		size = 100
	}
	first := s.firstDocument()
	if x.R.URL.Query().Has("$skiptoken") {
		place, at, ok := s.parseCursor(x.R.URL.Query().Get("$skiptoken"), 1)
		if !ok {
			x.problem(http.StatusBadRequest, "invalidRequest", "the $skiptoken is none of this service")
			return
		}
		if life := s.cfg.Pages.Cursor; life > 0 && x.row.At.Sub(at) >= life {
			x.W.Header().Set("Location", s.URL(listPath))
			x.problem(http.StatusGone, "resyncRequired", "the $skiptoken has expired: begin the listing again")
			return
		}
		first = place[0]
	}
	answer := struct {
		Value []item `json:"value"`
		Next  string `json:"@odata.nextLink,omitempty"`
	}{Value: []item{}}
	end := min(first+size, s.cfg.Last+1)
	for n := first; n < end; n++ {
		answer.Value = append(answer.Value, s.item(n))
	}
	if end <= s.cfg.Last {
		answer.Next = s.URL(listPath + "?$skiptoken=" + s.cursor(time.Now(), end))
	}
	x.json(http.StatusOK, answer)
}

func newKey() (key [16]byte) {
	rand.Read(key[:])
	return key
}

// cursor is a place in a listing, and when it was given.
func (s *Service) cursor(at time.Time, place ...int) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano()))
	for _, n := range place {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return base64.RawURLEncoding.EncodeToString(append(b, s.seal(b)...))
}

// parseCursor reads a cursor of so many numbers.
func (s *Service) parseCursor(text string, numbers int) (place []int, at time.Time, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	end := 8 * (1 + numbers)
	if err != nil || len(b) != end+8 || !hmac.Equal(b[end:], s.seal(b[:end])) {
		return nil, time.Time{}, false
	}
	for i := 8; i < end; i += 8 {
		place = append(place, int(binary.BigEndian.Uint64(b[i:])))
	}
	return place, time.Unix(0, int64(binary.BigEndian.Uint64(b))), true
}

func (s *Service) seal(b []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(b)
	return h.Sum(nil)[:8]
}
