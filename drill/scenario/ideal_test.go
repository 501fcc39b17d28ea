package scenario

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// An ideal is a client that does all that a built-in scenario can ask for, in the simplest
// way: one request at a time in each quota, and one wait for all of them.
type ideal struct {
	http  *http.Client
	token func() string

	mu      sync.Mutex
	waits   map[string]time.Time // until when, by origin
	refused map[string]int       // in a row, by origin
}

// What became of one try of a document.
type outcome int

const (
	again outcome = iota
	done
	gaveUp // of everything
)

const (
	patience = 20 * time.Second // for one wait
	stubborn = 8                // refusals in a row
	rest     = time.Second      // without a hint
)

func newIdeal(token func() string) *ideal {
	return &ideal{
		http: &http.Client{
			Timeout:       5 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{},
		},
		token: token, waits: map[string]time.Time{}, refused: map[string]int{},
	}
}

// readAll reads documents, those of each origin one after the other. It reports whether
// nothing is left.
func (c *ideal) readAll(docs []Document) bool {
	byOrigin := map[string][]Document{}
	for _, d := range docs {
		byOrigin[originOf(d.URL)] = append(byOrigin[originOf(d.URL)], d)
	}
	all := true
	var g sync.WaitGroup
	for _, docs := range byOrigin {
		g.Go(func() {
			for _, d := range docs {
				for how := again; how != done; {
					if how = c.read(d); how == gaveUp {
						c.mu.Lock()
						defer c.mu.Unlock()
						all = false
						return
					}
				}
			}
		})
	}
	g.Wait()
	return all
}

// read tries one document.
func (c *ideal) read(d Document) outcome {
	if !c.admit(originOf(d.URL)) {
		return gaveUp
	}
	resp, body, err := c.do("GET", d.URL, c.token(), nil)
	if err == nil && resp.StatusCode == http.StatusFound { // the link is used at once, and without the credential
		resp, body, err = c.do("GET", resp.Header.Get("Location"), "", nil)
	}
	switch {
	case err != nil:
		return again
	case c.isRefusal(originOf(d.URL), resp):
		return again
	case resp.StatusCode == http.StatusOK && isDocument(d, resp, body):
		return done
	case resp.StatusCode == http.StatusForbidden && originOf(resp.Request.URL.String()) == originOf(d.URL), resp.StatusCode == http.StatusNotFound:
		return done
	}
	return again
}

// isDocument compares a body with its hash, and with its digest where the document has changed.
func isDocument(d Document, resp *http.Response, body []byte) bool {
	sum := standin.Sum(body)
	tag := resp.Header.Get("ETag")
	return sum == d.SHA256 || tag != "" && tag != d.Version
}

// do sends a request and reads the whole answer.
func (c *ideal) do(method, url, token string, in []byte) (*http.Response, []byte, error) {
	r, err := http.NewRequest(method, url, bytes.NewReader(in))
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// admit waits until a request may leave for an origin; false: that is too long.
func (c *ideal) admit(origin string) bool {
	c.mu.Lock()
	wait, refused := time.Until(c.waits[origin]), c.refused[origin]
	c.mu.Unlock()
	if wait > patience || refused >= stubborn {
		return false
	}
	time.Sleep(wait) // what the test is about
	return true
}

// isRefusal keeps what an answer tells.
func (c *ideal) isRefusal(origin string, resp *http.Response) bool {
	hints := resp.Header.Values("Retry-After")
	if resp.StatusCode != http.StatusTooManyRequests && len(hints) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused[origin] = 0
		return false
	}
	c.closeFor(origin, waitOf(hints, resp.Header.Get("Date")))
	return true
}

func (c *ideal) closeFor(origin string, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[origin]++
	if until := time.Now().Add(wait + 20*time.Millisecond); until.After(c.waits[origin]) {
		c.waits[origin] = until
	}
}

// waitOf is the longest wait that the values of Retry-After tell.
func waitOf(hints []string, date string) time.Duration {
	var longest time.Duration
	for _, hint := range hints {
		if n, err := strconv.ParseUint(hint, 10, 32); err == nil {
			longest = max(longest, time.Duration(n)*time.Second)
		} else if at, err := http.ParseTime(hint); err == nil {
			now, err := http.ParseTime(date)
			if err != nil {
				now = time.Now()
			}
			longest = max(longest, at.Sub(now))
		}
	}
	if longest == 0 {
		longest = rest
	}
	return longest
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // it is the service's own
	}
	return u.Scheme + "://" + u.Host
}

// list reads a listing page by page, and returns the documents by id.
func (c *ideal) list(base string) (map[string]Document, error) {
	docs := map[string]Document{}
	for next := base + "/v1.0/documents"; next != ""; {
		if !c.admit(base) {
			return nil, errors.New("gave up listing")
		}
		resp, body, err := c.do("GET", next, c.token(), nil)
		if err != nil {
			return nil, err
		}
		if c.isRefusal(base, resp) {
			continue
		}
		var page struct {
			Value []struct {
				ID       string
				ETag     string
				Size     int
				Download string `json:"@microsoft.graph.downloadUrl"`
			}
			Next string `json:"@odata.nextLink"`
		}
		if err := json.Unmarshal(body, &page); err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", next, resp.StatusCode, body)
		}
		for _, it := range page.Value {
			docs[it.ID] = Document{URL: it.Download, ID: it.ID, Version: it.ETag, Size: it.Size}
		}
		next = page.Next
	}
	return docs, nil
}

// readBatches reads the documents of one origin twenty at a time.
func (c *ideal) readBatches(base string, docs []Document) error {
	left := map[string]Document{}
	for _, d := range docs {
		left[d.ID] = d
	}
	for len(left) > 0 {
		if !c.admit(base) {
			return errors.New("gave up a batch")
		}
		type request struct {
			ID     string `json:"id"`
			Method string `json:"method"`
			URL    string `json:"url"`
		}
		var in struct {
			Requests []request `json:"requests"`
		}
		for _, d := range docs {
			if _, isLeft := left[d.ID]; isLeft && len(in.Requests) < 20 {
				in.Requests = append(in.Requests, request{d.ID, "GET", strings.TrimPrefix(d.URL, base+"/v1.0")})
			}
		}
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		if err := c.batch(base, b, left); err != nil {
			return err
		}
	}
	return nil
}

// batch sends one batch and takes out of left what it brought.
func (c *ideal) batch(base string, in []byte, left map[string]Document) error {
	resp, body, err := c.do("POST", base+"/v1.0/$batch", c.token(), in)
	if err != nil {
		return err
	}
	var out struct {
		Responses []struct {
			ID      string
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &out); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("batch: %d %s", resp.StatusCode, body)
	}
	for _, r := range out.Responses {
		if r.Status == http.StatusTooManyRequests {
			c.closeFor(base, waitOf([]string{r.Headers["Retry-After"]}, ""))
			c.mu.Lock()
			c.refused[base] = 0 // the batch brought something
			c.mu.Unlock()
			continue
		}
		b, err := c.answered(r.Status, r.Headers, r.Body)
		if err != nil || standin.Sum(b) != left[r.ID].SHA256 {
			return fmt.Errorf("item %s is not the document: %d, %v", r.ID, r.Status, err)
		}
		delete(left, r.ID)
	}
	return nil
}

// answered is what an item of a batch brought, itself or by the link that it gave.
func (c *ideal) answered(status int, header map[string]string, body json.RawMessage) ([]byte, error) {
	if status == http.StatusFound {
		_, b, err := c.do("GET", header["Location"], "", nil)
		return b, err
	}
	var text string
	if err := json.Unmarshal(body, &text); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// listDrive reads the delta of a drive to its end, and returns its files: the documents that
// the numbers in their names say, each at the address of its content.
func (c *ideal) listDrive(base string, docs []Document) ([]Document, error) {
	var files []Document
	for next := base + "/v1.0/me/drive/root/delta"; next != ""; {
		resp, body, err := c.do("GET", next, c.token(), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Value []struct {
				ID, Name string
				Size     int
				File     *struct{}
				Parent   struct{ DriveID string } `json:"parentReference"`
			}
			Next string `json:"@odata.nextLink"`
		}
		if err := json.Unmarshal(body, &page); err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", next, resp.StatusCode, body)
		}
		for _, it := range page.Value {
			if it.File == nil {
				continue
			}
			n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(it.Name))
			if err != nil || n > len(docs) || it.Size != docs[n-1].Size {
				return nil, fmt.Errorf("%+v is none of the documents", it)
			}
			d := docs[n-1]
			d.URL = base + "/v1.0/drives/" + it.Parent.DriveID + "/items/" + it.ID + "/content"
			files = append(files, d)
		}
		next = page.Next
	}
	return files, nil
}
