package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// asked is how often each document of a drive was asked for: alone, in a batch, by its link.
func asked(s *standin.Service) map[int]int {
	n := map[int]int{}
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Document > 0 {
			n[a.Document]++
		}
		for _, it := range a.Items {
			if it.Document > 0 {
				n[it.Document]++
			}
		}
	}
	return n
}

// K1 to K4, K8: the binary is killed at random moments while a drive is listed and read. At
// the end the listing is whole, every document is done once, and none that was done was asked
// for again.
func TestDriveCrash(t *testing.T) {
	t.Parallel()
	const docs = 150
	kills := number(t, "DOGEAR_KILLS", 12)
	seed := uint64(number(t, "DOGEAR_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("%d kills, DOGEAR_SEED=%d", kills, seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := drive(t, docs, standin.Config{Graph: &standin.Graph{Folders: 6, Page: 6}, Rules: []standin.Rule{
		standin.Every(9, standin.Throttle(429, standin.Seconds, time.Second)),
		standin.Delay(20 * time.Millisecond),
	}})
	u := newUser(t)
	pace := []string{"--rate", "60/s", "--burst", "10", "--attempts", "1000", "--concurrency", "4"}
	command := readDrive(s, append(pace, "--batch", "5")...)
	ids := map[string]int{}
	for n := 1; n <= docs; n++ {
		ids[fmt.Sprintf("msgraph:drive/D1/items/01DRILLF%06d", n)] = n
	}
	doneAt := map[int]int{}
	listing := 0
	for killed, tries := 0, 0; killed < kills && tries < 10*kills; tries++ {
		p := u.start(command...)
		time.Sleep(time.Duration(100+rnd.IntN(1400)) * time.Millisecond)
		p.signal(os.Kill)
		p.wait(patience)
		r := u.run("status", "D1", "--json")
		if r.code == 66 { // killed before there was a job: the machine is slow
			continue
		}
		killed++
		command = []string{"resume", "D1", "--progress", "none"}
		if lines[status](t, r.stdout)[0].Listing == "incomplete" {
			listing++
		}
		n := asked(s)
		for _, d := range u.results("D1") {
			doc := ids[d.ID]
			if was, known := doneAt[doc]; known && was != n[doc] {
				t.Errorf("document %d was done after %d requests, and was asked for %d times", doc, was, n[doc])
			}
			doneAt[doc] = n[doc]
		}
	}
	t.Logf("%d kills while it was listed; %d of %d documents done before the last run", listing, len(doneAt), docs)
	s.SetRules()
	u.must(0, "resume", "D1", "--progress", "none", "--rate", "500/s", "--burst", "50")
	n := asked(s)
	for doc, was := range doneAt {
		if n[doc] != was {
			t.Errorf("document %d was done after %d requests, and was asked for %d times", doc, was, n[doc])
		}
	}
	seen := map[string]bool{}
	for _, d := range u.results("D1") {
		if ids[d.ID] == 0 || seen[d.ID] {
			t.Errorf("result %s is unknown or there twice", d.ID)
		}
		seen[d.ID] = true
	}
	if got := u.status("D1"); len(seen) != docs || got.Documents.Total != docs || got.Requests.Sent < s.Journal.Len() {
		t.Errorf("%d results, %d arrivals, %+v", len(seen), s.Journal.Len(), got)
	}
	u.must(0, "verify", "D1", "--deep")
}
