#!/usr/bin/env bash
# Refuses a change of proto/ that could not read what an older version has
# written. Compares with the last release, and with the commit before this work:
# where the branch left main, else the one before the last.
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT

buf() { go tool -modfile=tools/buf/go.mod buf "$@"; }

# Prints the commits to compare with. A shallow clone may have none.
baselines() {
	git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true
	local head main base
	head=$(git rev-parse HEAD)
	for main in origin/main main; do
		base=$(git merge-base HEAD "$main" 2>/dev/null) || continue
		if [ "$base" != "$head" ]; then
			echo "$base"
			return
		fi
	done
	git rev-parse --verify --quiet HEAD~ || true
}

buf lint
for commit in $(baselines); do
	if [ -z "$(git ls-tree "$commit" proto buf.yaml)" ]; then
		echo "No schemas yet in $commit: nothing to compare with."
		continue
	fi
	mkdir "$old/$commit"
	git archive "$commit" proto buf.yaml | tar -x -C "$old/$commit"
	if ! buf breaking --against "$old/$commit"; then
		echo "proto/ breaks what $commit has written or generated. Events only grow: add a field or an event instead." >&2
		exit 1
	fi
	echo "Schemas are compatible with $commit."
done
