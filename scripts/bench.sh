#!/usr/bin/env bash
# make bench: the benchmarks of bench/README.md, one after the other, on an idle machine.
# BENCH_ONLY names some of: read admit shared large go. BENCH_PAIRS and BENCH_FEW are the rounds of
# read, BENCH_DIR is a folder on the disk to measure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
only=" ${BENCH_ONLY:-read admit shared large go} "
wanted() { [[ $only == *" $1 "* ]]; }

TMPDIR=${BENCH_DIR:-/var/tmp} workfolder # /tmp may be memory
# On ext4 this puts every run's folder into block groups of its own.
chattr +T "$work" 2>/dev/null || say "chattr +T does not work on $work: runs may slow each other down"
echo "$(date -u +%FT%TZ), $(go version | cut -d ' ' -f 3,4), $(nproc) CPUs, $(stat -f -c %T "$work"), load $(cut -d ' ' -f 1 /proc/loadavg)"

CGO_ENABLED=0 go build -trimpath -o "$work/dogear" ./cmd/dogear
go build -o "$work/" ./bench/read ./bench/admit ./bench/shared ./bench/large

if wanted read; then
	scripts/need.sh curl aria2c rclone
	echo
	echo "== read: $(curl --version | head -n 1 | cut -d ' ' -f 1,2), $(aria2c --version | sed -n 1p), $(rclone version | sed -n 1p)"
	mkdir "$work/runs"
	chattr +T "$work/runs" 2>/dev/null || true
	"$work/read" -dogear "$work/dogear" -dir "$work/runs" -pairs "${BENCH_PAIRS:-9}" -few "${BENCH_FEW:-3}"
fi
if wanted admit; then
	echo
	echo "== admit"
	mkdir -m 700 "$work/ledgers"
	for n in 1 2 3; do
		"$work/admit" -store "$work/ledgers/one-$n.db" -processes 1
		"$work/admit" -store "$work/ledgers/four-$n.db" -processes 4
	done
fi
if wanted shared; then
	scripts/need.sh pg_ctlcluster
	echo
	echo "== shared: $(psql --version)"
	mkdir "$work/teams"
	export TMPDIR=${BENCH_DIR:-/var/tmp} # the server runs as somebody who does not see $work
	chattr +T "$work/teams" 2>/dev/null || true
	for n in 64 256; do
		mkdir "$work/teams/$n"
		"$work/shared" -dogear "$work/dogear" -dir "$work/teams/$n" -concurrency "$n"
	done
	for n in 1 2 3; do
		"$work/admit" -store postgres -processes 1
		"$work/admit" -store postgres -processes 4 -waiters 16
	done
	for rows in 100000 1000000 10000000; do
		DOGEAR_BENCH_ROWS=$rows go test -run '^$' -bench '^BenchmarkClaimSettle$' -benchtime 100000x ./ledger/postgres
	done
fi
if wanted large; then
	echo
	echo "== large"
	mkdir "$work/million"
	"$work/large" -dogear "$work/dogear" -dir "$work/million"
fi
if wanted go; then
	echo
	echo "== go test -bench"
	mapfile -t packages < <(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n 1 dirname | sort -u)
	TMPDIR=$work go test -run '^$' -bench . -benchmem "${packages[@]}"
fi
