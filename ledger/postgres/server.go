package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const (
	// readIdentity tells one server from another: a standby that was promoted writes another
	// timeline, and a cluster that was made anew is another system.
	readIdentity = `SELECT (SELECT system_identifier::text FROM pg_control_system()),
		left(pg_walfile_name(pg_current_wal_lsn()), 8)`

	addServer = `INSERT INTO dogear.server (system, timeline) VALUES ($1, $2)`

	// setServer finds a row only where another server wrote last.
	setServer = `UPDATE dogear.server SET system = $1, timeline = $2 WHERE system <> $1 OR timeline <> $2`

	lockScopes = `SELECT FROM dogear.scopes ORDER BY key FOR UPDATE`

	// doubtAll makes every scope prove itself.
	doubtAll = `UPDATE dogear.scopes SET probing = true, probe = 0 WHERE NOT probing OR probe <> 0`

	// skipBlocks leaves out the numbers that the other server may have given out.
	skipBlocks = `SELECT setval('dogear.blocks', nextval('dogear.blocks') + 1024)`
)

// A server is what tells a server from others; empty where it keeps that to itself, as what
// only speaks PostgreSQL's protocol may.
type server struct{ system, timeline string }

func identify(ctx context.Context, c conn) (s server, err error) {
	_, err = row(ctx, c, readIdentity, []any{&s.system, &s.timeline})
	if err != nil && !broken(err) {
		return server{}, nil
	}
	return s, err
}

// recognize looks whether this is the server that was written to last. Where it is another,
// or has forgotten what it had said was durable, throttles may be forgotten with it: every
// scope that was met begins as probing.
func (s *Store) recognize(ctx context.Context, c conn, forgot bool) (err error) {
	is, err := identify(ctx, c)
	if err != nil {
		return err
	}
	if _, err := c.exec(ctx, `BEGIN`); err != nil {
		return err
	}
	defer func() {
		if err != nil && !c.IsClosed() {
			_, _ = c.exec(ctx, `ROLLBACK`) // the first error is the one to tell
		}
	}()
	other, err := c.exec(ctx, setServer, is.system, is.timeline)
	if err != nil {
		return err
	}
	if other > 0 || forgot {
		b := &pgx.Batch{}
		b.Queue(lockScopes)
		b.Queue(doubtAll)
		b.Queue(skipBlocks)
		if err := c.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		s.mine.forget()
	}
	_, err = c.exec(ctx, `COMMIT`)
	return err
}
