package standin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A Graph says how the documents lie in drives, where Microsoft Graph's addresses have them.
type Graph struct {
	// Drive is the id of the first drive, which is that of /me too. Zero: D1.
	Drive string
	// Drives is over how many drives the documents are dealt out; the others are D2, D3 and
	// so on. Zero means 1.
	Drives int
	// Folders is over how many folders each drive's documents are dealt out; half of the
	// folders are in one of the others. Zero: all documents are in the root.
	Folders int
	// Page is the most items on a page of a delta. Zero means 100.
	Page int
	// Cursor is how long the token of a delta is good. Zero means for ever.
	Cursor time.Duration
}

// graph is a service's documents as Microsoft Graph has them.
type graph struct {
	Graph
	s      *Service
	drives []*drive
}

// siteID is the id of the one site, to which every host and path leads.
const siteID = "drill.sharepoint.example,0D211100-0000-4000-8000-000000000001,0D211100-0000-4000-8000-000000000002"

// newGraph lays a service's documents out.
func newGraph(s *Service, cfg Graph) (*graph, error) {
	if s.cfg.Last == 0 {
		return nil, errors.New("a graph lists its documents, and there is no end of them: set Last")
	}
	if cfg.Drive == "" {
		cfg.Drive = "D1"
	}
	if cfg.Page == 0 {
		cfg.Page = 100
	}
	g := &graph{Graph: cfg, s: s}
	for i := range max(1, cfg.Drives) {
		id := cfg.Drive
		if i > 0 {
			id = "D" + strconv.Itoa(i+1)
		}
		g.drives = append(g.drives, &drive{g: g, index: i, id: id})
	}
	for _, d := range g.drives {
		d.layOut()
	}
	return g, nil
}

// graphPath is the path of a drive, or of what is in it.
func graphPath(drive, rest string) string {
	return (&url.URL{Path: "/v1.0/drives/" + drive + rest}).EscapedPath()
}

// endpoint is what a path is for; nil: it is none of Graph's.
func (g *graph) endpoint(path string) *endpoint {
	rest, ok := strings.CutPrefix(path, "/v1.0/")
	if !ok {
		return nil
	}
	var e *endpoint
	switch first, rest, _ := strings.Cut(rest, "/"); first {
	case "me":
		if first, rest, _ := strings.Cut(rest, "/"); first == "drive" {
			e = g.drives[0].endpoint(rest)
		}
	case "drives":
		id, rest, _ := strings.Cut(rest, "/")
		if i := slices.IndexFunc(g.drives, func(d *drive) bool { return d.id == id }); i >= 0 {
			e = g.drives[i].endpoint(rest)
		}
	case "sites":
		e = g.site(rest)
	default:
		return nil
	}
	if e == nil {
		e = &endpoint{kind: journal.Other, answer: func(x *Exchange) { graphFail(x, http.StatusNotFound) }}
	}
	e.fail = graphFail
	return e
}

// graphCodes are Graph's names of the errors that a status of a document can mean.
var graphCodes = map[int][2]string{
	http.StatusForbidden:        {"accessDenied", "Access denied"},
	http.StatusNotFound:         {"itemNotFound", "The resource could not be found."},
	http.StatusMethodNotAllowed: {"invalidRequest", "This address is for GET."},
}

func graphFail(x *Exchange, status int) {
	code, known := graphCodes[status]
	if !known {
		code = [2]string{"generalException", http.StatusText(status)}
	}
	x.problem(status, code[0], code[1])
}

// site is what an address behind /sites/ is for: the site, by its id or by any host and path,
// or its drives.
func (g *graph) site(rest string) *endpoint {
	where, ofDrives := strings.CutSuffix(rest, "/drives")
	if strings.Contains(where, ":/") { // a path has a colon behind it where more is asked than the site
		ofDrives = ofDrives && strings.HasSuffix(where, ":")
	}
	switch {
	case where == "" || strings.Contains(where, ",") && where != siteID:
		return nil
	case ofDrives:
		return &endpoint{kind: journal.List, answer: g.listDrives}
	}
	return &endpoint{kind: journal.List, answer: func(x *Exchange) {
		x.json(http.StatusOK, resource{ID: siteID, Name: "drill", DisplayName: "The drill"})
	}}
}

// A resource is a site or a drive.
type resource struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	DriveType   string `json:"driveType,omitempty"`
}

const driveType = "documentLibrary"

func (d *drive) resource() resource {
	name := "Documents"
	if d.index > 0 {
		name += " " + strconv.Itoa(d.index+1)
	}
	return resource{ID: d.id, Name: name, DriveType: driveType}
}

// listDrives answers with one of the site's drives, and the address of the next.
func (g *graph) listDrives(x *Exchange) {
	n := 0
	if q := x.R.URL.Query(); q.Has("$skiptoken") {
		place, _, ok := g.s.parseCursor(q.Get("$skiptoken"), 1)
		if !ok || place[0] < 0 || place[0] >= len(g.drives) {
			x.problem(http.StatusBadRequest, "invalidRequest", "the $skiptoken is none of this listing")
			return
		}
		n = place[0]
	}
	answer := struct {
		Value []resource `json:"value"`
		Next  string     `json:"@odata.nextLink,omitempty"`
	}{Value: []resource{g.drives[n].resource()}}
	if n+1 < len(g.drives) {
		answer.Next = g.s.URL("/v1.0/sites/" + siteID + "/drives?$skiptoken=" + g.s.cursor(time.Now(), n+1))
	}
	x.json(http.StatusOK, answer)
}
