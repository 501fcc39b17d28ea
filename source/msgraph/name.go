package msgraph

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

const examples = "write it like msgraph:drive/ID, msgraph:drive/ID/folder, msgraph:site/contoso.sharepoint.com:/sites/team or msgraph:me"

// parse reads the name of a source. No error shows any of it: somebody may have pasted a link
// with a credential.
func parse(name string) (place, error) {
	rest, ok := strings.CutPrefix(name, Scheme)
	switch {
	case !ok:
		return place{}, errors.New("is no source of microsoft graph")
	case !plain(name):
		return place{}, errors.New("has a control character in its name, or is no UTF-8")
	case strings.Contains(rest, "?"):
		return place{}, errors.New("has a query: name a drive or a site, and no link to it")
	case rest == "me":
		return place{Kind: me}, nil
	}
	kind, rest, _ := strings.Cut(rest, "/")
	switch kind {
	case "drive":
		return parseDrive(rest)
	case "site":
		return parseSite(rest)
	}
	return place{}, errors.New("names neither a drive nor a site nor the person's own drive")
}

func parseDrive(rest string) (place, error) {
	id, path, _ := strings.Cut(rest, "/")
	path = strings.TrimSuffix(path, "/")
	switch {
	case id == "":
		return place{}, errors.New("has no drive id")
	case !sound(id) || strings.ContainsAny(id, " @#%:;&="):
		return place{}, errors.New("has a drive id with a character that is in none")
	case path != "" && !soundPath(path):
		return place{}, errBadPath
	}
	return place{Kind: drive, ID: id, Path: path}, nil
}

func parseSite(rest string) (place, error) {
	host, path, hasPath := strings.Cut(rest, ":")
	host = strings.ToLower(host)
	switch {
	case host == "":
		return place{}, errors.New("has no host of a site")
	case strings.Contains(host, "/"):
		return place{}, errors.New("has no colon between the host and the path of a site")
	case !isHost(host):
		return place{}, errors.New("has a host that is none: give its name alone")
	case !hasPath || path == "/":
		return place{Kind: site, ID: host}, nil
	}
	path, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), "/")
	if !ok || !soundPath(path) {
		return place{}, errBadPath
	}
	return place{Kind: site, ID: host + ":/" + path}, nil
}

var errBadPath = errors.New(`has a path with an empty, "." or ".." segment, a colon or a backslash`)

// soundPath reports whether a path without a leading slash is one that Graph can be asked for.
func soundPath(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if !sound(segment) || strings.ContainsAny(segment, ":?") {
			return false
		}
	}
	return true
}

// longest bounds an id and a segment of a path, in bytes. Graph's are far below.
const longest = 1024

// sound reports whether a text is one segment of an address's path, when it is escaped.
func sound(segment string) bool {
	return segment != "" && segment != "." && segment != ".." && len(segment) <= longest &&
		!strings.ContainsAny(segment, `/\`) && plain(segment)
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func isHost(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return len(s) <= 253
}
