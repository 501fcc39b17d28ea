package standin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

const googlePath = "/drive/v3/files/"

// googleReasons are Google's names of the errors that a status can mean.
var googleReasons = map[int][2]string{
	http.StatusBadRequest:       {"badRequest", "Bad request"},
	http.StatusForbidden:        {"insufficientFilePermissions", "The user does not have sufficient permissions for this file."},
	http.StatusNotFound:         {"notFound", "File not found."},
	http.StatusMethodNotAllowed: {"httpMethodNotAllowed", "This address is for GET."},
}

// googleFail answers with a status in Google's words.
func googleFail(x *Exchange, status int) {
	x.json(status, googleError(status, googleReasons[status][1]))
}

// googleError is an error as Google writes it.
func googleError(status int, message string) any {
	reason := googleReasons[status][0]
	if reason == "" {
		reason, message = "backendError", http.StatusText(status)
	}
	type one struct {
		Domain  string `json:"domain"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	type all struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Errors  []one  `json:"errors"`
	}
	return map[string]all{"error": {status, message, []one{{"global", reason, message}}}}
}

// google is what a request is for, as Google Drive has documents; nil: for none of them.
func (s *Service) google(r *http.Request) *endpoint {
	id, ok := strings.CutPrefix(r.URL.Path, googlePath)
	if !ok {
		return nil
	}
	e := &endpoint{kind: journal.Check, fail: googleFail, answer: func(x *Exchange) { googleFail(x, http.StatusNotFound) }}
	n, err := strconv.Atoi(id)
	if err != nil || n < s.firstDocument() || s.cfg.Last > 0 && n > s.cfg.Last {
		return e
	}
	if r.URL.Query().Get("alt") == "media" {
		e.number, e.answer = n, (*Exchange).deliver
		return e
	}
	e.answer = func(x *Exchange) { s.googleFile(x, n) }
	return e
}

// googleFields are those that a file has, in their order; the first three are what is said of
// one where a request names none.
var googleFields = []string{"kind", "id", "name", "version", "headRevisionId", "modifiedTime", "size"}

// googleFile answers with the fields of document n that are asked for. Numbers are texts, as
// Google writes them.
func (s *Service) googleFile(x *Exchange, n int) {
	if status := s.withheldAs(n); status != 0 {
		googleFail(x, status)
		return
	}
	version := s.version(n)
	all := map[string]string{
		"kind": "drive#file", "id": strconv.Itoa(n), "name": strconv.Itoa(n) + ".bin", "size": strconv.Itoa(s.size(n)),
		"version": strconv.Itoa(version + 1), "headRevisionId": "0B0drill" + strconv.Itoa(n) + "r" + strconv.Itoa(version+1),
		"modifiedTime": Modified(n, version).Format(time.RFC3339),
	}
	fields := googleFields[:3]
	if asked := x.R.URL.Query().Get("fields"); asked == "*" {
		fields = googleFields
	} else if asked != "" {
		fields = strings.Split(asked, ",")
	}
	answer := map[string]string{}
	for _, f := range fields {
		value, known := all[strings.TrimSpace(f)]
		if !known {
			googleFail(x, http.StatusBadRequest)
			return
		}
		answer[strings.TrimSpace(f)] = value
	}
	x.json(http.StatusOK, answer)
}
