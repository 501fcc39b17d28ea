package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// listRows is how many documents are added in one transaction.
const listRows = 8192

const (
	// addJob looks for the name too; that it is free at the end is for an index to say.
	addJob = `INSERT INTO dogear.jobs (name, stage, holder, settings, sink, created, total, listing, cursor)
		SELECT $1::text, 0, $2::bigint, $3::text, $4::text, dogear.nanos(clock_timestamp()), 0, false, ''
		WHERE NOT EXISTS (SELECT FROM dogear.jobs WHERE name = $1::text AND stage = 1) RETURNING id, created`

	finishJob = `UPDATE dogear.jobs SET stage = 1, total = $2 WHERE id = $1 AND stage = 0`

	abandonJob = `UPDATE dogear.jobs SET stage = 2 WHERE id = $1 AND stage = 0`

	addLanes = `INSERT INTO dogear.lanes (job, listed, scopes)
		SELECT $1::bigint, s, s FROM unnest($2::bigint[]) WITH ORDINALITY AS u(s, place) ORDER BY place RETURNING id`
)

// A listing is a job in the making. Its rows are in the ledger, but no job is.
type listing struct {
	*Store
	key func(id string) (hash, rest int64)
	job ledger.Job

	n       uint32   // documents, with the repeats
	rows    []listed // the next part
	writing *part    // the part before it; nil if none is being written
	spare   *part
	repeats int64

	lanes map[string]int // by joined scopes; an index of the three below
	sets  [][]string
	ids   []int64 // of lanes; shorter than sets while some are not made
	sizes []int64 // documents, with the repeats
}

// A listed is a document with the index of its lane.
type listed struct {
	dogear.Document
	lane int
}

// A part is what is written in one transaction while the next part is filled.
type part struct {
	rows []listed
	docs copying
	ids  copying
	made []int64 // lanes
	done chan error
}

// Create lists documents into a new job.
func (s *Store) Create(ctx context.Context, name string, set ledger.Settings, docs iter.Seq2[dogear.Document, error]) (ledger.Job, int64, error) {
	l := s.newListing(name, set)
	if err := l.list(ctx, docs); err != nil {
		return ledger.Job{}, 0, fmt.Errorf("list documents into job %s: %w", name, err)
	}
	return l.job, l.repeats, nil
}

func (s *Store) newListing(name string, set ledger.Settings) *listing {
	return &listing{
		Store: s, key: keyOf, job: ledger.Job{Name: name, Settings: set}, lanes: map[string]int{}, spare: &part{},
	}
}

// list makes the job, or leaves nothing.
func (l *listing) list(ctx context.Context, docs iter.Seq2[dogear.Document, error]) (err error) {
	if err := l.start(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			l.abandon(ctx)
		}
	}()
	for d, err := range docs {
		if err == nil {
			err = l.add(ctx, d)
		}
		if err != nil {
			return err
		}
	}
	return l.finish(ctx)
}

// start makes the job's row, which nobody sees.
func (l *listing) start(ctx context.Context) error {
	settings, err := json.Marshal(l.job.Settings)
	if err != nil {
		return err
	}
	if err := l.reapDead(ctx); err != nil {
		return err
	}
	err = l.act(ctx, listPen, func(ctx context.Context, tx *tx) error {
		var created int64
		found, err := row(ctx, tx, addJob, []any{&l.job.ID, &created},
			kept(l.job.Name), tx.me.Load(), string(settings), kept(l.job.Settings.Sink))
		if err == nil && !found {
			err = ledger.ErrJobExists
		}
		l.job.Created = instant(created)
		return err
	})
	after, _ := rangeOf(l.job.ID)
	l.job.First = after + 1
	return err
}

// keyOf is what stands for an id: the hash that the index has, and as much again, so that
// nobody finds two ids of one key.
func keyOf(id string) (hash, rest int64) {
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint64(sum[:8])), int64(binary.BigEndian.Uint64(sum[8:16]))
}

// add takes the next document. Whether it is a repeat shows at the end.
func (l *listing) add(ctx context.Context, d dogear.Document) error {
	if l.n == math.MaxUint32 {
		return fmt.Errorf("a list has at most %d documents", l.n)
	}
	d.Seq = l.job.First + int64(l.n)
	l.n++
	l.rows = append(l.rows, listed{d, l.lane(d.Scopes)})
	if len(l.rows) < listRows {
		return nil
	}
	return l.flush(ctx)
}

// lane is the index of the lane with these scopes, which has one document more.
func (l *listing) lane(scopes []string) int {
	if !slices.IsSorted(scopes) {
		scopes = sorted(scopes)
	}
	key := join(scopes)
	i, ok := l.lanes[key]
	if !ok {
		i = len(l.sets)
		l.lanes[key] = i
		l.sets = append(l.sets, slices.Clone(scopes))
		l.sizes = append(l.sizes, 0)
	}
	l.sizes[i]++
	return i
}

// flush has the part written that is full, while the next one is filled.
func (l *listing) flush(ctx context.Context) error {
	if err := l.wait(); err != nil {
		return err
	}
	// What an earlier listing left is deleted at the pace of this one.
	if err := l.sweep(ctx, 1); err != nil {
		return err
	}
	p := l.spare
	l.spare = nil
	p.rows, l.rows = l.rows, p.rows[:0]
	p.done = make(chan error, 1)
	l.writing = p
	lanes, sets := slices.Clone(l.ids), l.sets
	go func() { p.done <- l.write(ctx, p, lanes, sets) }() // wait waits for it
	return nil
}

// wait waits for what is being written.
func (l *listing) wait() error {
	if l.writing == nil {
		return nil
	}
	p := l.writing
	err := <-p.done
	l.writing, l.spare = nil, p
	if err == nil {
		l.ids = append(l.ids, p.made...)
	}
	return err
}

// write adds documents, and the lanes that they are the first of.
func (l *listing) write(ctx context.Context, p *part, lanes []int64, sets [][]string) error {
	sets = sets[len(lanes):]
	if err := l.learnSets(ctx, sets); err != nil {
		return err
	}
	return l.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) (err error) {
		if p.made, err = tx.addLanes(ctx, l.job.ID, sets); err != nil {
			return err
		}
		lanes := append(slices.Clone(lanes), p.made...)
		p.docs.reset()
		p.ids.reset()
		for _, r := range p.rows {
			hash, rest := l.key(r.ID)
			p.docs.document(r.Document, lanes[r.lane])
			p.ids.id(l.job.ID, hash, r.Seq, rest, int64(r.Fingerprint))
		}
		if err := tx.send(ctx, tx.batch()); err != nil {
			return err
		}
		if err := p.docs.copy(ctx, tx, copyDocuments); err != nil {
			return err
		}
		return p.ids.copy(ctx, tx, copyIDs)
	})
}

// addLanes makes lanes of sets that are known, and returns their ids in the same order.
func (tx *tx) addLanes(ctx context.Context, job int64, sets [][]string) ([]int64, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	numbers := make([]int64, len(sets))
	for i, keys := range sets {
		numbers[i], _ = tx.sets.id(join(keys))
	}
	var ids []int64
	err := tx.rows(ctx, addLanes, func(r pgx.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, job, numbers)
	return ids, err
}

// finish writes what is left, drops the repeats, and lets the job be seen.
func (l *listing) finish(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := l.wait(); err != nil {
		return err
	}
	l.rows, l.spare = nil, nil
	return l.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) error {
		dropped, err := l.drop(ctx, tx)
		if err != nil {
			return err
		}
		l.repeats = 0
		for i, lane := range l.ids {
			tx.count(l.job.ID, countLane, lane, l.sizes[i]-dropped[lane])
			l.repeats += dropped[lane]
		}
		l.job.Total = int64(l.n) - l.repeats
		tx.count(l.job.ID, countState, int64(dogear.Pending), l.job.Total)
		n, err := tx.exec(ctx, finishJob, l.job.ID, l.job.Total)
		if err == nil && n == 0 {
			err = ledger.ErrLeaseLost
		}
		return err
	})
}

// abandon leaves no trace of a listing that failed, at once where nobody is in a hurry.
func (l *listing) abandon(ctx context.Context) {
	_ = l.wait() // the listing has failed anyway
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := l.act(short, listPen, func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, abandonJob, l.job.ID)
		return err
	})
	if err == nil {
		// What stays is invisible: the next listing or run deletes it.
		_ = l.sweep(ctx, math.MaxInt)
	}
}
