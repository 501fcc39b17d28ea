#!/usr/bin/env bash
# Installs the clients that internal/clients drives through the drill: Debian's curl, wget and
# aria2, and packages for Python, Node and Go in the versions of clients/. It is quick and says
# nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

scripts/need.sh curl wget aria2c xargs python3 node npm

# What was installed for these versions is never changed: others get a folder of their own.
versions=$(cat clients/python/requirements.txt clients/node/package-lock.json | sha256sum | cut -c 1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dogear-clients
place=$cache/$versions

fetch() {
	say "installing the clients of clients/ into $place"
	rm -rf "$place"
	mkdir "$place"
	python3 -m venv "$place/python"
	"$place/python/bin/pip" install --quiet --disable-pip-version-check --no-deps -r clients/python/requirements.txt
	cp clients/node/package.json clients/node/package-lock.json "$place"
	npm --prefix "$place" ci --loglevel error --no-audit --no-fund >/dev/null
	touch "$place/done" # only now: an interrupted installation is begun anew
}

mkdir -p "$cache"
(
	flock 9
	if [ ! -e "$place/done" ] || [ ! -x "$place/python/bin/python" ]; then fetch; fi
	ln -sfn "$place" clients/installed
	ln -sfn "$place/node_modules" clients/node/node_modules
) 9>"$cache/lock"

# What dogear itself needs is in the module cache already, or will be.
go -C clients/go mod download 2>"$cache/go.log" || { cat "$cache/go.log" >&2; exit 1; }
