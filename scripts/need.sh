#!/usr/bin/env bash
# need.sh COMMAND…: makes sure that the commands are there, by Debian packages, without
# starting any of the services that come with them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

packages=()
fresh=()
for c in "$@"; do
	if have "$c"; then continue; fi
	fresh+=("$c")
	case $c in
	# The package of this name is the smallest one with limit_req.
	nginx) packages+=(nginx) ;;
	# The race detector is the one thing here that needs a C compiler.
	gcc) packages+=(gcc libc6-dev) ;;
	aria2c) packages+=(aria2) ;;
	python3) packages+=(python3 python3-venv) ;;
	node) packages+=(nodejs) ;;
	pg_ctlcluster) packages+=(postgresql) ;;
	ip) packages+=(iproute2) ;;
	xargs) packages+=(findutils) ;;
	*) packages+=("$c") ;;
	esac
done
if [ ${#packages[@]} -eq 0 ]; then exit 0; fi

have apt-get || die "missing: ${fresh[*]}; there is no apt-get here: install them and try again"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	have sudo || die "missing: ${fresh[*]}; to install them run, as root: apt-get install ${packages[*]}"
	as_root=(sudo)
	if [ ! -t 0 ]; then as_root+=(-n); fi
fi
root() { "${as_root[@]}" "$@"; }

say "installing ${packages[*]}"
# Package scripts ask this file whether they may start a service: 101 is no.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'root rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' | root tee $policy >/dev/null
	root chmod 755 $policy
fi
apt() {
	root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null
}
apt update
apt install -y --no-install-recommends "${packages[@]}"

# Nor at the next start of the machine: dogear runs its own, with its own settings.
for c in "${fresh[@]}"; do
	case $c in
	nginx | haproxy | pgbouncer) service=$c ;;
	pg_ctlcluster) service=postgresql ;;
	*) service= ;;
	esac
	if [ -n "$service" ] && have systemctl; then root systemctl --quiet disable "$service" >/dev/null 2>&1 || true; fi
	have "$c" || die "$c is still missing after: apt-get install ${packages[*]}"
done
