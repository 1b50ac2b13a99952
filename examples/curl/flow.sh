#!/bin/sh
# The whole life of a lease with nothing but curl: acquire, be refused, renew,
# look, wait in line, release, and see the token grow. Start a server first:
#
#   go run ./cmd/leasehold serve
#   examples/curl/flow.sh [http://127.0.0.1:8105]
set -eu

server=${1:-http://127.0.0.1:8105}
resource="flow:$$"
status= answer= next=
body=$(mktemp)
trap 'rm -f "$body" "$body.next"; [ -z "$next" ] || kill "$next" 2>/dev/null || :' EXIT

# call METHOD PATH [JSON] leaves the answer in $answer and its status in $status.
call() {
	status=$(curl -sS -o "$body" -w '%{http_code}' -X "$1" "$server$2" \
		-H 'Content-Type: application/json' ${3:+--data "$3"})
	answer=$(cat "$body")
}

# field NAME prints a field of the answer: a string or a number.
field() {
	printf '%s\n' "$answer" | sed -n "s/^[^}]*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

expect() {
	[ "$status" = "$1" ] || { echo "$2: status $status, want $1: $answer" >&2; exit 1; }
	echo "$status  $2"
}

call POST /v1/leases/acquire "{\"resource\":\"$resource\",\"holder\":\"anna\",\"ttl_seconds\":60}"
expect 201 'anna acquires'
id=$(field lease_id) token=$(field token)

call POST /v1/leases/acquire "{\"resource\":\"$resource\",\"holder\":\"ben\"}"
expect 409 "ben is refused: $(field code), held by $(printf '%s' "$answer" | sed 's/.*"holder":"\([^"]*\).*/\1/')"

call POST /v1/leases/renew "{\"lease_id\":\"$id\"}"
expect 200 "anna renews, $(field remaining_seconds) s left"

call POST /v1/leases/check "{\"resource\":\"$resource\",\"token\":$token}"
expect 200 "token $token is current: $(field current)"

# Ben waits in line, in the background.
curl -sS -o "$body.next" "$server/v1/leases/acquire" -H 'Content-Type: application/json' \
	--data "{\"resource\":\"$resource\",\"holder\":\"ben\",\"blocking\":true,\"timeout_ms\":20000}" &
next=$!
until call GET "/v1/resource?resource=$resource"; printf '%s' "$answer" | grep -q '"position":1'; do
	sleep 0.1
done
expect 200 'ben is first in line'

call POST /v1/leases/release "{\"lease_id\":\"$id\"}"
expect 200 'anna releases'
call POST /v1/leases/release "{\"lease_id\":\"$id\"}"
expect 404 "twice is too often: $(field code)"

wait "$next"
next=
answer=$(cat "$body.next") before=$token
id=$(field lease_id) token=$(field token)
[ "$token" -gt "$before" ] || { echo "the token went from $before to $token" >&2; exit 1; }
echo "201  ben has it, token $token after $before"

call POST /v1/leases/release "{\"lease_id\":\"$id\",\"reason\":\"the end\"}"
expect 200 'ben releases'
call GET "/v1/history?resource=$resource&event=released"
expect 200 "the history has $(printf '%s' "$answer" | grep -o '"event":"released"' | wc -l | tr -d ' ') releases"
