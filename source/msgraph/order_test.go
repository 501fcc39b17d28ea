package msgraph

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Within a page as well the last word on an item counts: what was deleted and is there again
// is a document, what comes and goes is none. A page of too many items is refused.
func TestLastWordInAPage(t *testing.T) {
	base, err := url.Parse("https://graph.microsoft.com")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open([]string{"msgraph:drive/D1"}, base)
	if err != nil {
		t.Fatal(err)
	}
	const there = `{"id":"X","name":"x","file":{},"eTag":"1"}`
	const gone = `{"id":"X","deleted":{}}`
	page := func(items ...string) string {
		return fmt.Sprintf(`{"value":[%s],"@odata.deltaLink":"https://graph.microsoft.com/v1.0/drives/D1/root/delta?token=d"}`, strings.Join(items, ","))
	}
	for _, tt := range []struct {
		body            string
		documents, gone int
	}{
		{page(gone, there), 1, 0}, {page(there, gone), 0, 1}, {page(there, gone, there), 1, 0}, {page(gone, there, gone), 0, 1},
	} {
		p, err := s.Page("", []byte(tt.body))
		if err != nil || len(p.Documents) != tt.documents || len(p.Gone) != tt.gone {
			t.Errorf("%s: %d documents, %d gone, %v; want %d, %d", tt.body, len(p.Documents), len(p.Gone), err, tt.documents, tt.gone)
		}
	}
	many := page(strings.TrimSuffix(strings.Repeat("{},", mostItems+1), ","))
	if _, err := s.Page("", []byte(many)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a page of %d items: %v", mostItems+1, err)
	}
}
