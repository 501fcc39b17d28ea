package clients

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dogear/dogear/drill"
	builtin "github.com/dogear/dogear/drill/scenario"
)

// TestGraphDrive: what the stand-in serves of Microsoft Graph is what Microsoft's own client
// takes. It sees every document of a drive once. It sends its token over https alone.
func TestGraphDrive(t *testing.T) {
	needInstalled(t)
	s, err := builtin.Load("graph-drive")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join(root, "clients/node/graph-drive.js"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "drill")
	r, err := drill.Run(t.Context(), drill.Spec{
		Scenario: s, Dir: dir, TLS: true,
		Command: []string{"sh", "-c", `NODE_EXTRA_CA_CERTS="$DRILL_CA" exec node "$0"`, script},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Figures
	if !r.Pass || f.Exit == nil || *f.Exit != 0 {
		t.Errorf("%s\n%s", r.Why, r.Said)
	}
	if f.Asked != s.Documents || f.Delivered != s.Documents || f.Repeats != 0 {
		t.Errorf("%d documents were asked for and %d delivered, %d again; want %d once", f.Asked, f.Delivered, f.Repeats, s.Documents)
	}
	saved, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil || len(saved) != s.Documents {
		t.Errorf("%d files are saved, %v; want %d", len(saved), err, s.Documents)
	}
}
