#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time, one after the other:
#   fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME}

count=0
while IFS= read -r folder; do
	while IFS= read -r target; do
		echo "fuzz $folder $target for $time"
		go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$folder"
		count=$((count + 1))
	done < <(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$folder"/*_test.go)
done < <(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -r dirname | sort -u | sed 's|^|./|')

echo "$count fuzz targets held"
if [ "$count" = 0 ]; then
	echo "No fuzz target was found: the pattern in $0 is wrong." >&2
	exit 1
fi
