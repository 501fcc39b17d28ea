#!/usr/bin/env bash
# make clouds: tests the sink for buckets also against emulators of Google Cloud Storage and Azure
# Blob Storage, in the versions of clients/gcs and clients/azure. The tests stop what they start.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

scripts/need.sh node npm

# What was installed for these versions is never changed: others get a folder of their own.
versions=$(cat clients/gcs/go.sum clients/azure/package-lock.json | sha256sum | cut -c 1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dogear-clouds
place=$cache/$versions

fetch() {
	say "installing the servers of clients/gcs and clients/azure into $place"
	rm -rf "$place"
	mkdir "$place"
	go build -C clients/gcs -tags disable_grpc_modules -o "$place/fake-gcs-server" github.com/fsouza/fake-gcs-server
	cp clients/azure/package.json clients/azure/package-lock.json "$place"
	npm --prefix "$place" ci --ignore-scripts --loglevel error --no-audit --no-fund >/dev/null
	touch "$place/done" # only now: an interrupted installation is begun anew
}

mkdir -p "$cache"
(
	flock 9
	if [ ! -e "$place/done" ]; then fetch; fi
	ln -sfn "$place" clients/clouds
) 9>"$cache/lock"

export DOGEAR_REQUIRE=s3,gcs,azure
go test -count=1 -timeout 10m ./sink/bucket
go test -count=1 -timeout 10m -run TestBucket ./internal/e2e
