package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// TestGraph: drives, folders, pages and tokens are what the scenario says, in each quota.
func TestGraph(t *testing.T) {
	st := start(t, "about: x\ndocuments: 9\ngraph: {drives: 2, folders: 3, page: 2, cursor: 1ms}\nquotas: [{name: a, documents: 1-5}, {name: b}]\n", Options{})
	for i, q := range st.Head.Quotas {
		var page struct {
			Value []struct{ ID string }
			Next  string `json:"@odata.nextLink"`
		}
		if err := json.Unmarshal([]byte(get(t, q.Origin+"/v1.0/drives/D2/root/delta")), &page); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(page.Value), []string{"[{01DRILLR000000} {01DRILLF000002}]", "[{01DRILLR000000} {01DRILLF000007}]"}[i]; got != want {
			t.Errorf("quota %s: %s, want %s", q.Name, got, want)
		}
		resp, err := http.Get(page.Next) // it takes longer than the token is good
		for err == nil && resp.StatusCode == http.StatusOK {
			resp.Body.Close()
			resp, err = http.Get(page.Next)
		}
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusGone || !strings.HasPrefix(resp.Header.Get("Location"), q.Origin) {
			t.Errorf("quota %s: %v, %v", q.Name, resp.Status, resp.Header)
		}
	}
}

// TestChecksAreNoReads: what is asked about a document counts against the limit, and is no
// attempt of it, in a batch or alone.
func TestChecksAreNoReads(t *testing.T) {
	var b bytes.Buffer
	st := start(t, "about: x\ndocuments: 2\ngraph: {}\ngoogle: true\nquotas: [{limit: {window: 5, per: 1h}}]\n", Options{Journal: &b})
	address := st.Base() + "/v1.0/drives/D1/items/01DRILLF000001"
	get(t, address+"/content")
	get(t, address)
	get(t, st.Base()+"/drive/v3/files/1?fields=version")
	batch := `{"requests":[{"id":"1","method":"GET","url":"/drives/D1/items/01DRILLF000001"},` +
		`{"id":"2","method":"GET","url":"/drives/D1/items/01DRILLF000002"},{"id":"3","method":"GET","url":"/drives/D1/items/01DRILLF000002"}]}`
	resp, err := http.Post(st.Base()+"/v1.0/$batch", "application/json", strings.NewReader(batch))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	ended(t, st, 4)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := journal.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	f := judge.Judge(rec, judge.DefaultSlack)
	if f.Requests != 4 || f.Asked != 1 || f.Delivered != 1 || f.Lost != 1 || f.AttemptsMost != 1 || f.Repeats != 0 {
		t.Errorf("%+v", f)
	}
	if it := rec.Arrivals[3].Items[2]; it.Refused != journal.ByLimit || it.Kind != journal.Check {
		t.Errorf("the last check: %+v", it)
	}
}
