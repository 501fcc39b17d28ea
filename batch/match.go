package batch

import "strings"

// Match puts answers to the ids that were sent. Of each id there is one in matched, in the order of ids and
// with the id as it was sent; where nothing answers it the Status is 0, and the item is still to be done.
//
// If an id is answered more than once, a success (2xx, 3xx) wins over a failure whatever their order, and
// else the first stands. So a failure that lost is not in matched: what to wait for is to be read from all
// the answers. An answer goes to one id only: of ids that are the same the first has it.
//
// Ids that were never sent are in unknown, each once, in the order of the answers. foldCase says that ids
// that differ in case alone are the same, as Graph has it.
func Match(ids []string, answers []Answer, foldCase bool) (matched []Answer, unknown []string) {
	fold := func(id string) string { return id }
	if foldCase {
		fold = strings.ToLower
	}
	matched = make([]Answer, len(ids))
	place := make(map[string]int, len(ids))
	for n, id := range ids {
		matched[n].ID = id
		if _, twice := place[fold(id)]; !twice {
			place[fold(id)] = n
		}
	}
	reported := map[string]bool{}
	for _, a := range answers {
		n, sent := place[fold(a.ID)]
		if !sent {
			if !reported[fold(a.ID)] {
				reported[fold(a.ID)] = true
				unknown = append(unknown, a.ID)
			}
			continue
		}
		if matched[n].Status == 0 || succeeded(a.Status) && !succeeded(matched[n].Status) {
			a.ID = ids[n]
			matched[n] = a
		}
	}
	return matched, unknown
}

func succeeded(status int) bool { return 200 <= status && status < 400 }
