package e2e

import (
	"testing"
	"time"
)

// TestDrill runs dogear's own table: every row passes.
func TestDrill(t *testing.T) {
	t.Parallel()
	r := newUser(t).start("drill").wait(5 * time.Minute)
	t.Logf("\n%s", r.stdout)
	r.want(t, 0)
}
