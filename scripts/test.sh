#!/usr/bin/env bash
# make test: vet here and for every system that is supported, then all tests under -race.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

scripts/need.sh gcc
if scripts/need.sh nginx haproxy chromium pg_ctlcluster pgbouncer ip && scripts/clients.sh; then
	: # the tests find them and start their own
elif [ "${CI:-}" = true ]; then
	die "CI tests against real limiters, clients and a browser: they are needed"
else
	say "tests with nginx, haproxy, chromium, PostgreSQL, PgBouncer, network namespaces and other clients are skipped where these are missing"
	if ! scripts/need.sh pg_ctlcluster; then export DOGEAR_TEST_POSTGRES=${DOGEAR_TEST_POSTGRES:-skip}; fi
fi
# In CI a test that would skip for want of these fails instead.
if [ "${CI:-}" = true ]; then export DOGEAR_REQUIRE=nginx,haproxy,chromium,clients,pgbouncer,s3; fi
# Only root may make the machines of the tests over several: network namespaces.
if [ "${CI:-}" = true ] && [ "$(id -u)" -eq 0 ]; then DOGEAR_REQUIRE+=,netns; fi

go vet ./...
# Elsewhere without what needs the libraries of bucket services: to compile those six times takes
# longer than all tests. It has no code of its own for a system, and CI builds the binary for each.
mapfile -t light < <(go list -f '{{.ImportPath}} {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
	grep -vE ' (gocloud\.dev|github\.com/aws|github\.com/dogear/dogear/internal/cli)([/ ]|$)' | cut -d' ' -f1 | grep -vE '/(sink/bucket|internal/cli|internal/e2e)$')
for os in linux darwin windows; do
	for arch in amd64 arm64; do
		say "vet $os/$arch"
		CGO_ENABLED=0 GOOS=$os GOARCH=$arch go vet "${light[@]}"
	done
done
# What runs processes against the clock has the machine to itself.
mapfile -t packages < <(go list ./... | grep -v /internal/)
CGO_ENABLED=1 go test -race -timeout 15m "${packages[@]}"
CGO_ENABLED=1 go test -race -timeout 15m -p 1 ./internal/...
