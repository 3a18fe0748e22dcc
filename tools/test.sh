#!/usr/bin/env bash
# The whole suite, quick parts first; stops at the first stage that fails.
# Each stage is a target of the Makefile and can be run alone.
set -euo pipefail
cd "$(dirname "$0")/.."

stages=(
	"setup          what Go does not bring: a C compiler, Chromium, Node.js"
	"build          everything compiles"
	"vet            what the compiler lets pass"
	"test-go        unit tests, conformance of the stores, house rules, with the race detector"
	"lint           linters and schemas"
	"check-generated  generated code is what its sources make"
	"test-aisdk     our fold of message streams against the AI SDK's own reader"
	"test-blackbox  the real binary on real sockets, killed and restarted"
	"check-web      the committed page is what its sources build to"
	"test-hooks     every option and value of the published hooks, against a real node"
	"test-browser   the page in a real browser against the real binary"
)

elapsed() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }

passed=0
for stage in "${stages[@]}"; do
	read -r target why <<<"$stage"
	printf '\n=== [%s] %s: %s\n' "$(elapsed)" "$target" "$why"
	if ! "${MAKE:-make}" --no-print-directory "$target"; then
		printf '\n=== [%s] %s failed; the stages after it did not run. Again alone: make %s\n' "$(elapsed)" "$target" "$target"
		printf 'stages: %d passed, 1 failed\n' "$passed"
		exit 1
	fi
	passed=$((passed + 1))
done
printf '\n=== [%s] done\n' "$(elapsed)"
printf 'stages: %d passed, 0 failed\n' "$passed"
