#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time, one after the other:
#   fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME}

# go test sometimes takes the end of the time itself for a failure ("context
# deadline exceeded", and no failing input). Such a run has found nothing: again.
fuzz() {
	local out tries=3
	out=$(mktemp)
	while ! go test -run='^$' -fuzz="^$2\$" -fuzztime="$time" -fuzzminimizetime=100x "$1" 2>&1 | tee "$out"; do
		tries=$((tries - 1))
		if [ "$tries" = 0 ] || grep -q 'Failing input written' "$out" || ! grep -q 'context deadline exceeded' "$out"; then
			rm -f "$out"
			return 1
		fi
		echo "the time was up, nothing was found; once more"
	done
	rm -f "$out"
}

count=0
while IFS= read -r folder; do
	while IFS= read -r target; do
		echo "fuzz $folder $target for $time"
		fuzz "$folder" "$target"
		count=$((count + 1))
	done < <(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$folder"/*_test.go)
done < <(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -r dirname | sort -u | sed 's|^|./|')

echo "$count fuzz targets held"
if [ "$count" = 0 ]; then
	echo "No fuzz target was found: the pattern in $0 is wrong." >&2
	exit 1
fi
