#!/bin/sh
# Proves that the committed dist is what the sources build to. Needs Node.js 20.19 or later and npm; writes nothing but node_modules.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
npm ci --no-audit --no-fund
npx tsc --noEmit
npx vite build --outDir "$out/dist" --emptyOutDir --logLevel warn
if ! diff -r "$out/dist" dist; then
	echo "web/dist is not what web/src builds to: run 'npm run build' in web and commit dist" >&2
	exit 1
fi
echo "web/dist is what the sources build to"
