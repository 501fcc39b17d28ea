package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// migrations make each version of the schema from the one before. They are named after
// their number, and only ever added to.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as dogear's: "DogE".
const applicationID = 0x446f6745

// migrate brings the file to this program's schema. The caller holds the write lock.
func migrate(c conn) error {
	id, err := c.number(`PRAGMA application_id`)
	if err != nil {
		return err
	}
	version, err := c.number(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	tables, err := c.number(`SELECT count(*) FROM sqlite_schema`)
	if err != nil {
		return err
	}
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return err
	}
	switch {
	case tables == 0 && id == 0 && version == 0: // a new file
	case id != applicationID:
		return ErrForeign
	case int(version) > len(files):
		return fmt.Errorf("%w: it has schema %d, this one knows %d; try: a newer dogear", ErrNewer, version, len(files))
	}
	for _, f := range files[version:] {
		if err := apply(c, f.Name()); err != nil {
			return fmt.Errorf("migration %s: %w", f.Name(), err)
		}
	}
	return nil
}

// apply runs one migration, whole or not at all.
func apply(c conn, name string) (err error) {
	prefix, _, _ := strings.Cut(name, "_")
	n, err := strconv.Atoi(prefix)
	if err != nil {
		return err
	}
	script, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return err
	}
	end, err := sqlitex.ImmediateTransaction(c.Conn)
	if err != nil {
		return explain(err)
	}
	defer end(&err)
	marks := fmt.Sprintf("\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\n", applicationID, n)
	if err := sqlitex.ExecuteScript(c.Conn, string(script)+marks, nil); err != nil {
		return explain(err)
	}
	return nil
}

// sound reads the first row of every table, so that damage is found before anything relies
// on the file. It does not read it all.
func sound(c conn) error {
	var tables []string
	err := c.rows(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, func(r *sqlite.Stmt) {
		tables = append(tables, r.ColumnText(0))
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := c.number(`SELECT 1 FROM "` + t + `" LIMIT 1`); err != nil {
			return err
		}
	}
	return nil
}
