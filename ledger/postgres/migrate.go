package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// migrations make each version of the schema from the one before. They are named after
// their number, and only ever added to.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Roles are the grants for a role that works on a ledger and for one that only reads it.
//
//go:embed roles.sql
var Roles string

// oldest is the oldest server that has all that is asked of it.
const oldest = 150000

const readServer = `SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
	(SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())`

// fit refuses a server that a ledger cannot be in.
func fit(ctx context.Context, c conn) error {
	var version int
	var shown, encoding string
	if _, err := row(ctx, c, readServer, []any{&version, &shown, &encoding}); err != nil {
		return err
	}
	if version < oldest {
		return fmt.Errorf("%w: it is %s; try: a newer server", ErrVersion, shown)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("%w: it is %s; try: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", ErrEncoding, encoding)
	}
	return nil
}

const (
	// readRights finds out what is there, and what this role may.
	readRights = `SELECT current_user::text, to_regnamespace('dogear') IS NOT NULL,
		coalesce(has_schema_privilege(to_regnamespace('dogear')::oid, 'USAGE'), false),
		EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('dogear') AND relname = 'schema'),
		EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('dogear')),
		CASE WHEN to_regnamespace('dogear') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
			ELSE has_schema_privilege(to_regnamespace('dogear')::oid, 'CREATE') END,
		pg_is_in_recovery()`

	readVersion = `SELECT version FROM dogear.schema`

	// lockSchema lets one process at a time change the schema. The number is "dogear" in
	// ASCII. It ends with the transaction, so it works behind a pooler.
	lockSchema = `SELECT pg_advisory_xact_lock(110386840822130)`
)

type rights struct {
	role                              string
	there, usage, ours, objects, make bool
	standby                           bool
}

func readRightsOf(ctx context.Context, c conn) (r rights, err error) {
	_, err = row(ctx, c, readRights, []any{&r.role, &r.there, &r.usage, &r.ours, &r.objects, &r.make, &r.standby})
	return r, err
}

// migrate brings the database to this program's schema, or refuses it.
func migrate(ctx context.Context, c conn) error {
	r, err := readRightsOf(ctx, c)
	if err != nil {
		return err
	}
	known, err := version(ctx, c, r)
	if err != nil {
		return err
	}
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return err
	}
	switch {
	case known > len(files):
		return fmt.Errorf("%w: it has schema %d, this one knows %d; try: a newer dogear", ErrNewer, known, len(files))
	case known == len(files):
		return nil
	case r.standby && known == 0:
		return fmt.Errorf("the server is a standby and has no ledger; try: the primary")
	case !r.make && known == 0:
		return fmt.Errorf("%w: there is no ledger, and role %s may not make one; try: GRANT CREATE ON DATABASE, "+
			"or open it once as an owner", ErrRights, r.role)
	case !r.make:
		return fmt.Errorf("%w: the ledger has schema %d, this dogear needs %d, and role %s may not change it; "+
			"try: open it once as its owner", ErrRights, known, len(files), r.role)
	}
	return change(ctx, c, files)
}

// version is the schema's version; zero where there is none.
func version(ctx context.Context, c conn, r rights) (int, error) {
	switch {
	case !r.there, !r.objects:
		return 0, nil
	case !r.usage:
		return 0, fmt.Errorf("%w: role %s may not use the schema dogear; try: the grants in docs/operations.md", ErrRights, r.role)
	case !r.ours:
		return 0, fmt.Errorf("%w; try: another database", ErrForeign)
	}
	n, err := number(ctx, c, readVersion)
	return int(n), err
}

const makeSchema = `CREATE SCHEMA IF NOT EXISTS dogear;
CREATE TABLE IF NOT EXISTS dogear.schema (
	one     boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL
);
INSERT INTO dogear.schema (version) VALUES (0) ON CONFLICT DO NOTHING`

// change applies the migrations that are missing, all or none.
func change(ctx context.Context, c conn, files []fs.DirEntry) (err error) {
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
	if _, err := c.exec(ctx, lockSchema); err != nil {
		return err
	}
	r, err := readRightsOf(ctx, c) // another process may have been faster
	if err != nil {
		return err
	}
	known, err := version(ctx, c, r)
	if err != nil {
		return err
	}
	if known == 0 {
		// IF NOT EXISTS asks for the right to make a schema even where there is one.
		script := makeSchema
		if r.there {
			_, script, _ = strings.Cut(script, "\n")
		}
		if err := run(ctx, c, script); err != nil {
			return err
		}
	}
	for _, f := range files[min(known, len(files)):] {
		if err := apply(ctx, c, f.Name()); err != nil {
			return fmt.Errorf("migration %s: %w", f.Name(), explain(err))
		}
	}
	if known == 0 {
		if _, err := c.exec(ctx, addServer, is.system, is.timeline); err != nil {
			return err
		}
	}
	_, err = c.exec(ctx, `COMMIT`)
	return err
}

func apply(ctx context.Context, c conn, name string) error {
	prefix, _, _ := strings.Cut(name, "_")
	n, err := strconv.Atoi(prefix)
	if err != nil {
		return err
	}
	script, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return err
	}
	if err := run(ctx, c, string(script)); err != nil {
		return err
	}
	_, err = c.exec(ctx, `UPDATE dogear.schema SET version = $1`, n)
	return err
}

// run runs a script of several statements.
func run(ctx context.Context, c conn, script string) error {
	_, err := c.PgConn().Exec(ctx, script).ReadAll()
	return err
}
