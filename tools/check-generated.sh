#!/usr/bin/env bash
# Proves that what is committed is what its sources make: the Go code of proto/
# and the requirements in go.mod. Generates beside the tree, so it changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

go tool -modfile=tools/buf/go.mod buf generate --output "$out"
if ! diff -r --exclude='*.proto' --exclude='*.md' "$out/proto" proto; then
	echo "proto/ is not what its .proto files make: run 'make generate' and commit the result." >&2
	exit 1
fi
if ! go mod tidy -diff; then
	echo "go.mod or go.sum does not fit the imports: run 'go mod tidy' and commit the result." >&2
	exit 1
fi
echo "Generated code and go.mod are what the sources make."
