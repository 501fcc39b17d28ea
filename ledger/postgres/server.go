package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// identity tells one server from another: a standby that was promoted writes another
// timeline, and a cluster that was made anew is another system.
const identity = `(SELECT system_identifier::text FROM pg_control_system()),
	left(pg_walfile_name(pg_current_wal_lsn()), 8)`

const (
	addServer = `INSERT INTO dogear.server (system, timeline) SELECT ` + identity + ` ON CONFLICT DO NOTHING`

	// setServer finds a row only where another server wrote last.
	setServer = `UPDATE dogear.server s SET system = i.system, timeline = i.timeline
		FROM (SELECT ` + identity + `) AS i(system, timeline) WHERE s.system <> i.system OR s.timeline <> i.timeline`

	lockScopes = `SELECT FROM dogear.scopes ORDER BY key FOR UPDATE`

	// doubtAll makes every scope prove itself.
	doubtAll = `UPDATE dogear.scopes SET probing = true, probe = 0 WHERE NOT probing OR probe <> 0`

	// skipBlocks leaves out the numbers that the other server may have given out.
	skipBlocks = `SELECT setval('dogear.blocks', nextval('dogear.blocks') + 1024)`
)

func recordServer(ctx context.Context, c conn) error {
	_, err := c.exec(ctx, addServer)
	return err
}

// recognize looks whether this is the server that was written to last. Where it is another,
// or has forgotten what it had said was durable, throttles may be forgotten with it: every
// scope that was met begins as probing.
func (s *Store) recognize(ctx context.Context, c conn, forgot bool) (err error) {
	if _, err := c.exec(ctx, `BEGIN`); err != nil {
		return err
	}
	defer func() {
		if err != nil && !c.IsClosed() {
			_, _ = c.exec(ctx, `ROLLBACK`) // the first error is the one to tell
		}
	}()
	other, err := c.exec(ctx, setServer)
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
