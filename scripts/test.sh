#!/usr/bin/env bash
# make test: vet here and for other systems, then all tests, most of them under -race.
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

# The libraries of bucket services take longer to compile than all the rest: they are compiled
# once, here and without the race detector. What needs them is tested apart.
go vet ./...
mapfile -t rest < <(go list ./... | grep -vE '/(sink/bucket|internal/buckets)$')
# Each system and each architecture once; .github/workflows/ci.yml builds the binary for all.
for target in linux/arm64 darwin/arm64 windows/amd64; do
	say "vet $target"
	export GOOS=${target%/*} GOARCH=${target#*/}
	mapfile -t there < <(go list -tags nobuckets ./... | grep -vE '/(sink/bucket|internal/buckets)$')
	CGO_ENABLED=0 go vet -tags nobuckets "${there[@]}"
	unset GOOS GOARCH
done
# SQLite, translated from C to Go, is its makers' to test: with the race detector in it as well,
# the tests of a ledger take eight times as long.
race=(-race -gcflags=modernc.org/...=-race=false -tags nobuckets -timeout 15m)
# What runs processes against the clock has the machine to itself.
mapfile -t packages < <(printf '%s\n' "${rest[@]}" | grep -v /internal/)
mapfile -t internal < <(printf '%s\n' "${rest[@]}" | grep /internal/)
CGO_ENABLED=1 go test "${race[@]}" "${packages[@]}"
CGO_ENABLED=1 go test "${race[@]}" -p 1 "${internal[@]}"
go test -timeout 10m -p 1 ./sink/bucket
go test -timeout 10m -run '^TestBucket' ./internal/e2e
