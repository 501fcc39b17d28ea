# shellcheck shell=bash
# Sourced by the other scripts: a work folder, and children that are stopped by their pid.

# Debian keeps servers where an ordinary user's PATH does not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# As `make build` does: without the gRPC that Google's library would bring and nothing uses.
export GOFLAGS=-tags=disable_grpc_modules

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

children=()

# started PID: the script stops it when it ends, however it ends.
started() { children+=("$1"); }

# stop PID: asks, waits up to 5 s, then kills.
stop() {
	kill "$1" 2>/dev/null || return 0
	for _ in {1..50}; do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

tidy() {
	trap - EXIT
	trap '' INT TERM # a second Ctrl-C must not leave a server behind
	local pid
	for pid in "${children[@]}"; do stop "$pid"; done
	if [ -n "${work:-}" ]; then rm -rf "$work"; fi
}

# workfolder: a private folder, named $work, that is gone when the script ends.
workfolder() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/dogear.XXXXXX")
	trap tidy EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
