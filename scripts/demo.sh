#!/usr/bin/env bash
# make demo: reads this machine's documentation through nginx, which allows 100 requests a
# second and answers 429 to more. The read is interrupted once and resumed; at the end two
# witnesses, nginx's own log and dogear's ledger, say whether anything was read twice.
# DEMO_KEEP=1 keeps what was read in ./demo-out; DEMO_STANDIN=1 does without nginx.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
here=$PWD
docs=/usr/share/doc
most=800
rate=100

# documents ROOT PREFIX N: up to N addresses under PREFIX for the files under ROOT that everybody
# may read, each with its file, a tab between them.
documents() {
	find "$1" -type f -perm -o=r ! -name '*[[:cntrl:]]*' -printf '%P\n' 2>/dev/null | LC_ALL=C sort |
		LC_ALL=C awk -v root="$1" -v prefix="$2" -v most="$3" '
			BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = sprintf("%%%02X", i) }
			NR > most { next }
			{
				out = ""
				for (i = 1; i <= length($0); i++) {
					c = substr($0, i, 1)
					out = out (c ~ /[A-Za-z0-9\/._~-]/ ? c : code[c])
				}
				print prefix out "\t" root "/" $0
			}'
}

# A rate limit is the one thing here that the demo is about: 429, and when to come again.
nginx_conf() {
	cat <<-CONF
		pid $work/nginx.pid;
		error_log $work/error.log;
		events {}
		http {
			log_format demo '\$status \$body_bytes_sent \$sent_http_content_length \$request_uri';
			access_log $work/access.log demo;
			$(for d in client_body proxy fastcgi uwsgi scgi; do echo "${d}_temp_path $work/temp;"; done)
			limit_req_zone \$server_name zone=demo:1m rate=${rate}r/s;
			server {
				listen 127.0.0.1:$1;
				server_name demo;
				limit_req zone=demo burst=20 nodelay;
				limit_req_status 429;
				error_page 429 @later;
				location /doc/ { alias $docs/; }
				location /go/ { alias $(go env GOROOT)/src/; }
				location @later { internal; add_header Retry-After 1 always; return 429; }
			}
		}
	CONF
}

start_nginx() {
	local port
	for _ in 1 2 3; do # somebody else may take the port before nginx does
		port=$(go run scripts/freeport.go)
		nginx_conf "$port" >"$work/nginx.conf"
		nginx -p "$work" -e "$work/error.log" -c "$work/nginx.conf" -g 'daemon off;' &
		pid=$!
		for _ in {1..50}; do
			if (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null && kill -0 $pid 2>/dev/null; then
				started $pid
				base=http://127.0.0.1:$port
				return
			fi
			kill -0 $pid 2>/dev/null || break
			sleep 0.1
		done
		stop $pid
	done
	cat "$work/error.log" >&2
	return 1
}

start_standin() {
	go build -o "$work/standin" ./scripts/standin
	"$work/standin" --listen 127.0.0.1:0 --root $docs --rate $rate --burst 20 --journal "$work/journal" >"$work/address" &
	started $!
	for _ in {1..50}; do
		base=$(head -n 1 "$work/address")
		base=${base%/}
		if [ -n "$base" ]; then return; fi
		sleep 0.1
	done
	die "the stand-in does not start"
}

# told FILE: what the ledger's rows of requests come to, in words.
told() {
	awk '
		function field(name) {
			return match($0, "\"" name "\":\"?[^\",}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : ""
		}
		function seconds(t) { # of the day; the demo is shorter than one
			gsub(/.*T|Z/, "", t)
			split(t, part, ":")
			return part[1] * 3600 + part[2] * 60 + part[3]
		}
		{
			outcome = field("outcome")
			gsub("\"", "", outcome)
			if (outcome == "not_sent") next # a permit that came to nothing
			sent++
			if (outcome == "ok") { read++; bytes += field("bytes") }
			if (outcome == "throttled") refused++
			until = field("wait_until"); gsub("\"", "", until)
			if (until == "") next
			from = field("ended_at"); gsub("\"", "", from)
			from = seconds(from); until = seconds(until)
			if (from > until) until += 86400
			if (from >= end) { waits++; waited += until - from; end = until }
			else if (until > end) { waited += until - end; end = until }
		}
		END {
			printf "read   %d documents, %.1f MB\n", read, bytes / 1e6
			printf "sent   %d requests, of which %d were refused with 429\n", sent, refused
			printf "waited %.1f s, in %d waits\n", waited, waits
		}' "$1"
}

# number FIELD: the first number of that name in a JSON object on standard input.
number() { tr -d ' \n' | sed -n "s/.*\"$1\":\([0-9][0-9]*\).*/\1/p"; }

run() {
	say "\$ ${*/#$work\//}"
	"$@"
}

workfolder
mkdir "$work/temp"
say "building dogear"
CGO_ENABLED=0 go build -o "$work/dogear" ./cmd/dogear

prefix=/doc/
if [ "${DEMO_STANDIN:-}" != 1 ] && scripts/need.sh nginx && start_nginx; then
	server="nginx with limit_req"
else
	say "nginx cannot be had here: the tests' own stand-in takes its place"
	server="the stand-in"
	start_standin
	prefix=/
fi
documents $docs "$base$prefix" $most >"$work/files"
total=$(wc -l <"$work/files")
if [ "$total" -lt 500 ] && [ $prefix = /doc/ ]; then
	# Slim images come without documentation; Go's sources are full of it.
	documents "$(go env GOROOT)/src" "$base/go/" $((most - total)) >>"$work/files"
	total=$(wc -l <"$work/files")
fi
cut -f 1 "$work/files" >"$work/urls.txt"
say "$server serves $total documents of $docs at $base, $rate a second"
say

cd "$work"
export PATH=$work:$PATH DOGEAR_STORE=$work/ledger/ledger.db

# After a third of the documents somebody presses Ctrl-C.
(
	until [ "$(dogear status demo --json 2>/dev/null | number 'done')0" -ge $((total / 3))0 ]; do sleep 0.2; done
	kill -INT "$(cat pid)"
) &
watcher=$!
started $watcher
code=0
say "\$ dogear read urls.txt --scope host -o out --job demo"
# In the foreground, as a person would run it: in the background bash lets it ignore SIGINT.
(
	echo "$BASHPID" >pid
	exec dogear read urls.txt --scope host -o out --job demo
) || code=$?
if [ $code -ne 130 ]; then die "dogear read ended with exit code $code; 130 was expected, for it was interrupted"; fi
first=$(dogear status demo --json | number 'done')
say "interrupted (exit code 130) with $first of $total documents done"
say
run dogear resume demo
say

run dogear status demo
run dogear runs demo
run dogear verify demo --deep
dogear requests demo --json >sent
say
told sent

# Byte for byte, against the files themselves.
cut -f 2 files | tr '\n' '\0' | xargs -0 sha256sum | cut -c 1-64 | sort >want
find out -type f ! -name dogear.jsonl ! -name '.*' -print0 | xargs -0 sha256sum | cut -c 1-64 | sort >got
cmp -s want got || die "what was read differs from the files in $docs"
echo "all $total files are byte for byte those of the machine"

# Once is enough: whole answers with 200, by address, and documents read with success, by id.
# An answer that the interrupt cut has to come again; it is none of either.
if [ "$server" = "the stand-in" ]; then
	grep '"status":200,.*"whole":true' journal | sed 's/.*"path":"\([^"]*\)".*/\1/' >served
else
	awk '$1 == 200 && $2 == $3 { print $4 }' access.log >served
fi
grep '"outcome":"ok"' sent | sed 's/.*"id":"\([^"]*\)".*/\1/' >settled
twice() { sort "$1" | uniq -d | tee twice | wc -l | tr -d ' '; }
by_server=$(twice served)
by_ledger=$(twice settled)
echo
echo "$(wc -l <served) whole documents left the server in two runs; sent twice: $by_server"
echo "documents read twice, by dogear's ledger: $by_ledger"
echo "documents read twice, by $server: $by_server"

if [ "${DEMO_KEEP:-}" = 1 ]; then
	rm -rf "$here/demo-out"
	cp -R out "$here/demo-out"
	say "kept in demo-out"
fi
if [ "$by_server$by_ledger" != 00 ]; then die "something was read twice"; fi
