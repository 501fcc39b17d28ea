package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// An asker runs a query: a connection, or a transaction.
type asker interface {
	// rows calls read for each row.
	rows(ctx context.Context, query string, read func(pgx.Rows) error, args ...any) error
}

// row reads the first row into dest and reports whether there was one.
func row(ctx context.Context, a asker, query string, dest []any, args ...any) (found bool, err error) {
	err = a.rows(ctx, query, func(r pgx.Rows) error {
		if found {
			return nil
		}
		found = true
		return r.Scan(dest...)
	}, args...)
	return found && err == nil, err
}

// number is the first column of the first row; zero if there is none.
func number(ctx context.Context, a asker, query string, args ...any) (n int64, err error) {
	_, err = row(ctx, a, query, []any{&n}, args...)
	return n, err
}

// each queues a query and calls read for each row of its answer.
func each(b *pgx.Batch, query string, read func(pgx.Rows) error, args ...any) {
	b.Queue(query, args...).Query(func(r pgx.Rows) error {
		for r.Next() {
			if err := read(r); err != nil {
				return err
			}
		}
		return r.Err()
	})
}

// A conn is a connection. It is one goroutine's at a time.
type conn struct{ *pgx.Conn }

func (c conn) rows(ctx context.Context, query string, read func(pgx.Rows) error, args ...any) error {
	r, err := c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	for r.Next() {
		if err := read(r); err != nil {
			return err
		}
	}
	return r.Err()
}

// exec runs a statement and reports how many rows it wrote.
func (c conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// drop closes a connection without a word.
func (c conn) drop() {
	if c.Conn != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing is waited for
		_ = c.Close(ctx)
	}
}

// parse reads the address of the database.
func parse(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, ErrAddress // pgx's text may hold the password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "dogear"
	}
	// A peer that is gone is noticed within half a minute, also in the middle of a question.
	cfg.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4},
		Control:         giveUp,
	}).DialContext
	return cfg, nil
}

// where names the database without credentials.
func where(cfg *pgx.ConnConfig) string {
	at := []string{}
	name := func(host string, port uint16) {
		if strings.HasPrefix(host, "/") {
			host = strings.ReplaceAll(host, "/", "%2F")
		}
		if a := net.JoinHostPort(host, fmt.Sprint(port)); len(at) == 0 || at[len(at)-1] != a {
			at = append(at, a)
		}
	}
	name(cfg.Host, cfg.Port)
	for _, f := range cfg.Fallbacks { // the same host without TLS, and other hosts
		name(f.Host, f.Port)
	}
	return "postgres://" + strings.Join(at, ",") + "/" + cfg.Database
}

// dial opens a connection.
func (s *Store) dial(ctx context.Context) (conn, error) {
	c, err := pgx.ConnectConfig(ctx, s.cfg.Copy())
	if err != nil {
		return conn{}, err
	}
	return conn{c}, nil
}

// hopeless reports whether connecting again cannot help: the server has answered, and what
// it says is not that it cannot serve now.
func hopeless(err error) bool {
	return codeOf(err) != "" && !broken(err) || errors.Is(err, ErrAddress)
}

// read lends work a connection that reads, again if the connection breaks.
func (s *Store) read(ctx context.Context, work func(context.Context, conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c conn
	select {
	case <-s.quit:
		return ErrClosed
	default:
	}
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return ErrClosed
	}
	defer func() { s.readers <- c }()
	for p := s.patience(); ; {
		var err error
		if c.Conn == nil || c.IsClosed() {
			c, err = s.dial(ctx)
		}
		if err == nil {
			if err = work(ctx, c); err == nil || !c.IsClosed() && codeOf(err) != "25006" {
				s.absent.end()
				return explain(err)
			}
			c.drop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.borne(ctx, err); err != nil {
			return err
		}
	}
}

// snapshot is read for work of several queries that have to agree.
func (s *Store) snapshot(ctx context.Context, work func(context.Context, conn) error) error {
	return s.read(ctx, func(ctx context.Context, c conn) (err error) {
		if _, err := c.exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
			return err
		}
		defer func() {
			if _, e := c.exec(ctx, `ROLLBACK`); err == nil {
				err = e
			}
		}()
		return work(ctx, c)
	})
}
