package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	addPaged = `INSERT INTO dogear.jobs (name, stage, holder, settings, sink, created, total, listing, cursor)
		VALUES ($1, 1, $2, $3, $4, dogear.nanos(clock_timestamp()), 0, true, '') RETURNING id, created`

	setCursor = `UPDATE dogear.jobs SET cursor = $2, total = total + $3 WHERE id = $1`

	lastSeq = `SELECT coalesce(max(seq), $1) FROM dogear.documents WHERE seq > $1 AND seq <= $2`

	findLanes = `SELECT listed, id FROM dogear.lanes WHERE job = $1 AND listed = ANY($2)`

	setFolders = `INSERT INTO dogear.folders AS f (job, id, parent, name, outside)
		SELECT $1::bigint, id, parent, name, outside
		FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[]) AS u(id, parent, name, outside)
		ON CONFLICT (job, id) DO UPDATE SET parent = excluded.parent, name = excluded.name, outside = excluded.outside`

	// findListed locks what it finds, so that nobody claims what a page is about to move.
	findListed = `SELECT d.seq, d.state, d.lane, d.version, d.sha256, d.digest, d.id
		FROM unnest($2::bigint[], $3::text[]) AS u(hash, id) JOIN dogear.ids i ON i.job = $1 AND i.hash = u.hash
		JOIN dogear.documents d ON d.seq = i.seq AND d.id = u.id FOR UPDATE OF d`

	setListed = `UPDATE dogear.documents SET address = $2, name = $3, parent = $4, version = $5, size = $6, sha256 = $7, digest = $8
		WHERE seq = $1`

	dropDocuments = `DELETE FROM dogear.documents WHERE seq = ANY($1)`

	dropIDs = `DELETE FROM dogear.ids i USING unnest($2::bigint[], $3::bigint[]) AS u(hash, seq)
		WHERE i.job = $1 AND i.hash = u.hash AND i.seq = u.seq`

	setChanged = `UPDATE dogear.documents SET state = $2, reason = $3, found = $4 WHERE seq = $1`
)

// CreatePaged makes a job that is listed in pages.
func (s *Store) CreatePaged(ctx context.Context, name string, set ledger.Settings) (ledger.Job, error) {
	job := ledger.Job{Name: name, Settings: set, Listing: true}
	settings, err := json.Marshal(set)
	if err == nil {
		err = s.act(ctx, listPen, func(ctx context.Context, tx *tx) error {
			var created int64
			_, err := row(ctx, tx, addPaged, []any{&job.ID, &created}, kept(name), tx.me.Load(), string(settings), kept(set.Sink))
			after, _ := rangeOf(job.ID)
			job.First, job.Created = after+1, instant(created)
			return err
		})
	}
	if err != nil {
		return ledger.Job{}, fmt.Errorf("make job %s: %w", name, err)
	}
	return job, nil
}

// AddPage takes a page of a listing.
func (s *Store) AddPage(ctx context.Context, job int64, p dogear.Page) (ledger.Paged, error) {
	var got ledger.Paged
	listing := false
	sets := make([][]string, len(p.Documents))
	for i, d := range p.Documents {
		sets[i] = sorted(d.Scopes)
	}
	err := s.learnSets(ctx, sets)
	if err == nil {
		err = s.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) (err error) {
			got = ledger.Paged{}
			if _, listing, err = tx.takeJob(ctx, job); err != nil {
				return err
			}
			known, err := tx.known(ctx, job, p)
			if err == nil && listing {
				err = tx.listed(ctx, job, p, known, &got)
			} else if err == nil {
				err = tx.told(ctx, p, known, &got)
			}
			if err == nil {
				_, err = tx.exec(ctx, setCursor, job, kept(p.Cursor), got.New-got.Dropped)
			}
			return err
		})
	}
	if err == nil && listing && p.Last {
		err = s.complete(ctx, job, &got)
	}
	if err != nil {
		return ledger.Paged{}, fmt.Errorf("add a page to the listing of job %d: %w", job, err)
	}
	return got, nil
}

// A known document is what a page is compared with.
type known struct {
	dogear.Document
	state dogear.State
	lane  int64
}

// known are the job's documents that a page names, by id.
func (tx *tx) known(ctx context.Context, job int64, p dogear.Page) (map[string]known, error) {
	all := map[string]known{}
	var ids []string
	for _, d := range p.Documents {
		ids = append(ids, d.ID)
	}
	ids = sorted(append(ids, p.Gone...))
	hashes := make([]int64, len(ids))
	for i, id := range ids {
		hashes[i], _ = keyOf(id)
		ids[i] = kept(id)
	}
	err := tx.rows(ctx, findListed, func(r pgx.Rows) error {
		var k known
		var state int16
		var sum []byte
		err := r.Scan(&k.Seq, &state, &k.lane, &k.Version, &sum, &k.Digest, &k.ID)
		k.state, k.SHA256 = dogear.State(state), digestOf(sum)
		k.ID, k.Version, k.Digest = told(k.ID), told(k.Version), told(k.Digest)
		all[k.ID] = k
		return err
	}, job, hashes, ids)
	return all, err
}

// listed takes a page of a listing that is not complete.
func (tx *tx) listed(ctx context.Context, job int64, p dogear.Page, was map[string]known, got *ledger.Paged) error {
	if err := tx.setFolders(ctx, job, p.Folders); err != nil {
		return err
	}
	fresh, place := []dogear.Document{}, map[string]int{} // new ones, and where each is
	b := tx.batch()
	for _, d := range p.Documents {
		if i, ok := place[d.ID]; ok {
			d.Scopes = fresh[i].Scopes
			fresh[i] = d
		} else if k, ok := was[d.ID]; ok {
			replace(b, k.Seq, d)
		} else {
			place[d.ID] = len(fresh)
			fresh = append(fresh, d)
			got.New++
		}
	}
	var dropped []known
	for _, id := range p.Gone {
		if k, ok := was[id]; ok {
			dropped = append(dropped, k)
			delete(was, id)
		} else if i, ok := place[id]; ok {
			fresh[i].ID = ""
			delete(place, id)
			got.Dropped++
		}
	}
	got.Dropped += int64(len(dropped))
	tx.dropListed(b, job, dropped)
	if err := tx.send(ctx, b); err != nil {
		return err
	}
	return tx.addListed(ctx, job, slices.DeleteFunc(fresh, func(d dogear.Document) bool { return d.ID == "" }))
}

func (tx *tx) setFolders(ctx context.Context, job int64, folders []dogear.Folder) error {
	var ids, parents, names []string
	var outside []bool
	last := map[string]int{} // of several with one id the last counts
	for i, f := range folders {
		last[f.ID] = i
	}
	for i, f := range folders {
		if last[f.ID] == i {
			ids, parents, names = append(ids, kept(f.ID)), append(parents, kept(f.Parent)), append(names, kept(f.Name))
			outside = append(outside, f.Outside)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, setFolders, job, ids, parents, names, outside)
	return err
}

// addListed adds documents behind those that the job has.
func (tx *tx) addListed(ctx context.Context, job int64, docs []dogear.Document) error {
	if len(docs) == 0 {
		return nil
	}
	after, last := rangeOf(job)
	seq, err := number(ctx, tx, lastSeq, after, last)
	if err != nil {
		return err
	}
	if last-seq < int64(len(docs)) {
		return fmt.Errorf("a job has at most %d documents", last-after)
	}
	lanes, err := tx.lanesOf(ctx, job, docs)
	if err != nil {
		return err
	}
	var rows, ids copying
	rows.reset()
	ids.reset()
	for i, d := range docs {
		d.Seq = seq + int64(i) + 1
		hash, rest := keyOf(d.ID)
		lane := lanes[join(sorted(d.Scopes))]
		rows.document(d, lane)
		ids.id(job, hash, d.Seq, rest, 0)
		tx.count(job, countLane, lane, 1)
	}
	tx.count(job, countState, int64(dogear.Pending), int64(len(docs)))
	if err := rows.copy(ctx, tx, copyDocuments); err != nil {
		return err
	}
	return ids.copy(ctx, tx, copyIDs)
}

// lanesOf are the lanes of documents by their joined scopes; made where they are missing.
func (tx *tx) lanesOf(ctx context.Context, job int64, docs []dogear.Document) (map[string]int64, error) {
	sets, numbers := map[int64]string{}, []int64{}
	for _, d := range docs {
		joined := join(sorted(d.Scopes))
		n, _ := tx.sets.id(joined)
		if _, met := sets[n]; !met {
			sets[n] = joined
			numbers = append(numbers, n)
		}
	}
	lanes := map[string]int64{}
	err := tx.rows(ctx, findLanes, func(r pgx.Rows) error {
		var listed, id int64
		err := r.Scan(&listed, &id)
		lanes[sets[listed]] = id
		return err
	}, job, numbers)
	var missing [][]string
	for _, n := range numbers {
		if lanes[sets[n]] == 0 {
			missing = append(missing, split(sets[n]))
		}
	}
	if err != nil {
		return nil, err
	}
	made, err := tx.addLanes(ctx, job, missing)
	for i, id := range made {
		lanes[join(missing[i])] = id
	}
	return lanes, err
}

// replace lets the last word on a document count.
func replace(b *pgx.Batch, seq int64, d dogear.Document) {
	var address, parent *string
	if !d.Secret && d.Address != d.ID {
		s := kept(d.Address)
		address = &s
	}
	if d.Parent != "" {
		s := kept(d.Parent)
		parent = &s
	}
	b.Queue(setListed, seq, address, kept(d.Name), parent, kept(d.Version), max(d.Size, -1), digest(d.SHA256), kept(d.Digest))
}

// dropListed drops pending documents of a listing that is not complete.
func (tx *tx) dropListed(b *pgx.Batch, job int64, docs []known) {
	if len(docs) == 0 {
		return
	}
	seqs, hashes := make([]int64, len(docs)), make([]int64, len(docs))
	for i, k := range docs {
		seqs[i] = k.Seq
		hashes[i], _ = keyOf(k.ID)
		tx.count(job, countLane, k.lane, -1)
		tx.count(job, countState, int64(dogear.Pending), -1)
	}
	b.Queue(dropDocuments, seqs)
	b.Queue(dropIDs, job, hashes, seqs)
}

// told takes what a complete listing's service says of changes: the job never grows.
func (tx *tx) told(ctx context.Context, p dogear.Page, was map[string]known, got *ledger.Paged) error {
	var back []int64
	b := tx.batch()
	move := func(k known, to dogear.State, reason, found string) {
		tx.moved(k.Seq, k.lane, k.state, to)
		b.Queue(setChanged, k.Seq, int16(to), reason, kept(found))
		k.state = to
		was[k.ID] = k
	}
	for _, d := range p.Documents {
		k, ok := was[d.ID]
		switch same := k.Same(d); {
		case !ok:
		case k.state == dogear.Changed && same:
			back = append(back, k.Seq)
			k.state = dogear.Denied // it moves once
			was[k.ID] = k
			got.Back++
		case k.state == dogear.Pending && !same:
			move(k, dogear.Changed, "the service has another version than was listed", d.Version)
			got.Changed++
		}
	}
	for _, id := range p.Gone {
		if k, ok := was[id]; ok && k.state == dogear.Pending {
			move(k, dogear.Gone, "the service says that it was deleted", "")
			got.Gone++
		}
	}
	if err := tx.send(ctx, b); err != nil || len(back) == 0 {
		return err
	}
	return tx.reopen(ctx, back, "the service has the listed version again")
}
