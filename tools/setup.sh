#!/usr/bin/env bash
# Sees to it that the suite has what Go does not bring: a C compiler for the race
# detector; a Chromium for the browser tests; a Node.js that is new enough for Vite.
#
#   setup.sh check     says what is missing and whether it can be installed; changes nothing
#   setup.sh install   installs what is missing
#
# Debian's gcc, chromium, nodejs and npm come from apt. Where the distribution's Node.js
# is too old, a newer one comes from npm into .tmp/ of this folder.
set -euo pipefail
cd "$(dirname "$0")/.."

node_wanted=20.19.0        # Vite 8
node_from_npm=22.23.5
node_local=.tmp/bin/node   # the Makefile puts .tmp/bin in front of PATH
PATH="$PWD/.tmp/bin:$PATH"

have() { command -v "$1" >/dev/null 2>&1; }

chromium_found() { have chromium; }

node_found() {
	have node || return 1
	local version
	version=$(node --version) # v22.1.0
	[ "$(printf '%s\n' "$node_wanted" "${version#v}" | sort -V | head -n 1)" = "$node_wanted" ]
}

# What apt must bring, one name a line. Node.js is asked for with npm only: the
# package npm needs nodejs anyway, and brings one that a newer Node.js can run under.
packages() {
	have "${CC:-gcc}" || printf '%s\n' gcc libc6-dev
	chromium_found || echo chromium
	have npm || printf '%s\n' nodejs npm
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

check() {
	local missing
	missing=$(packages | xargs)
	if [ -z "$missing" ] && node_found; then
		echo "A C compiler, Chromium and Node.js $(node --version) are here; nothing to install."
		return
	fi
	[ -z "$missing" ] || echo "Will install with apt: $missing"
	node_found || echo "Will install Node.js $node_from_npm from npm into .tmp/ unless apt brings $node_wanted or later."
	[ -z "$missing" ] && return
	if ! have apt-get; then
		echo "There is no apt-get here. Please install a C compiler, Chromium, Node.js $node_wanted or later and npm yourself, then try again." >&2
		exit 1
	fi
	if [ "$(id -u)" != 0 ] && ! have sudo; then
		echo "This needs root, and there is no sudo. Please run as root: apt-get install $missing" >&2
		exit 1
	fi
}

install_node() {
	local arch
	case "$(uname -m)" in
		x86_64) arch=x64 ;;
		aarch64) arch=arm64 ;;
		*)
			echo "No Node.js $node_wanted or later here, and npm has none for $(uname -m). Please install one." >&2
			exit 1
			;;
	esac
	echo "Installing Node.js $node_from_npm from npm into .tmp/ (the one that is here is older than $node_wanted)"
	mkdir -p .tmp/node .tmp/bin
	npm install --prefix .tmp/node --no-save --no-audit --no-fund --loglevel=error "node-linux-$arch@$node_from_npm"
	ln -sf "../node/node_modules/node-linux-$arch/bin/node" "$node_local"
	hash -r
}

install() {
	check
	local missing
	missing=$(packages | xargs)
	if [ -n "$missing" ]; then
		echo "Installing with apt: $missing"
		as_root apt-get update -qq
		# shellcheck disable=SC2086 # one word a package
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
	fi
	node_found || install_node
	node_found || {
		echo "Node.js is still older than $node_wanted: $(node --version)" >&2
		exit 1
	}
}

case "${1:-}" in
	check) check ;;
	install) install ;;
	*)
		echo "usage: $0 check|install" >&2
		exit 2
		;;
esac
