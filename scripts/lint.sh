#!/usr/bin/env bash
# make lint: what CONTRIBUTING.md lists, all of it even where the first complains.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
workfolder

failed=()
check() {
	local name=$1
	shift
	say "lint: $name"
	"$@" || failed+=("$name")
}
tool() { go tool -modfile=tools/go.mod "$@"; }

formatted() {
	local files
	files=$(gofmt -l .)
	if [ -n "$files" ]; then
		say "not as gofmt writes it:" "$files"
		return 1
	fi
}

# The stand-in breaks connections on purpose, and a benchmark counts what arrived.
unchecked() {
	local packages
	mapfile -t packages < <(go list ./... | grep -vE '/(drill/standin|bench)(/|$)')
	tool errcheck -exclude tools/errcheck.txt -ignoretests "${packages[@]}"
}

# Code that is fine is no news because a database cannot be reached.
vulnerable() {
	tool govulncheck ./... >"$work/vuln" 2>&1 && return 0
	if grep -qE 'vuln.*(dial|lookup|timeout|connection|Forbidden|status code|HTTP GET)|fetching vulnerabilities' "$work/vuln"; then
		say "govulncheck skipped: its database cannot be reached"
		return 0
	fi
	cat "$work/vuln" >&2
	return 1
}

check gofmt formatted
check vet go vet ./...
check staticcheck tool staticcheck ./...
check errcheck unchecked
check govulncheck vulnerable
if have shellcheck || scripts/need.sh shellcheck; then
	check shellcheck shellcheck -x scripts/*.sh .ci/run
fi
if [ ${#failed[@]} -gt 0 ]; then die "found something: ${failed[*]}"; fi
say "lint: nothing found"
