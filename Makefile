# Holdfast. `make` tells what can be made.

# The tests of test/ are slow and start processes; each has a target of its own.
# The house rules in test/arrows are quick and go with the unit tests.
unit     = $$(go list ./... | grep -v '/holdfast/test/') ./test/arrows
blackbox = $$(go list ./test/... | grep -v -e '/test/aisdk$$' -e '/test/arrows$$' -e '/test/browser' -e '/test/kill$$')

# Pinned tools, each in a module of its own so that the product's go.mod stays clean.
buf           = go tool -modfile=tools/buf/go.mod buf
golangci-lint = go tool -modfile=tools/golangci-lint/go.mod golangci-lint

FUZZTIME ?= 30s
BENCH    ?= .

# A Node.js of our own, if `make setup` had to bring one.
export PATH := $(CURDIR)/.tmp/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help run build web generate test test-go test-aisdk test-blackbox test-hooks test-browser vet lint check-generated check-web fuzz bench setup setup-check

##@ Use

help: ## tell what can be made
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## start a node on http://localhost:8787, journal in ./data
	go run ./cmd/node

build: ## compile everything; the node goes to bin/node
	go build ./...
	go build -o bin/node ./cmd/node

##@ Change

web: setup ## build the chat page from web/src into web/dist, which is committed
	cd web && npm ci && npm run build

generate: ## generate the Go code of proto/, which is committed
	$(buf) generate

##@ Prove

test: ## the whole suite; first installs what `make setup-check` names
	@MAKE=$(MAKE) tools/test.sh

test-go: ## unit tests, conformance of the stores, house rules, with the race detector
	go test -race $(unit)

test-aisdk: setup ## our fold of message streams against the AI SDK's own reader
	cd test/aisdk && npm ci --no-audit --no-fund --loglevel=error
	go test -count=1 ./test/aisdk

test-blackbox: ## the real binary on real sockets, killed and restarted (HOLDFAST_KILLS times)
	go test -count=1 -timeout=20m $(blackbox)
	go test -count=1 -timeout=20m -v ./test/kill

test-hooks: setup ## every option and value of the published hooks, against a real node
	go build -o bin/testnode ./test/testnode
	cd test/hooks && npm ci --ignore-scripts --no-audit --no-fund && HOLDFAST_TESTNODE_BIN=$(CURDIR)/bin/testnode npm test

test-browser: setup ## the chat page in a real browser against the real binary
	go build -o bin/node ./cmd/node
	go build -o bin/provider ./test/providerwire/cmd
	cd test/browser && npm ci && HOLDFAST_NODE_BIN=$(CURDIR)/bin/node HOLDFAST_PROVIDER_BIN=$(CURDIR)/bin/provider npm test

vet: ## what the compiler lets pass
	go vet ./...

lint: ## linters of .golangci.yml; schemas: style, and compatible with what was written
	$(golangci-lint) run
	tools/check-breaking.sh

check-generated: ## generated code and go.mod are what their sources make
	tools/check-generated.sh

check-web: setup ## the committed page is what its sources build to
	web/check-dist.sh

fuzz: ## look for new findings, each target for FUZZTIME (30s); what was found runs with test-go
	tools/fuzz.sh $(FUZZTIME)

bench: ## benchmarks that match BENCH (all)
	go test -run='^$$' -bench='$(BENCH)' -benchmem $(unit)

##@ Machine

setup: ## install a C compiler, Chromium and Node.js if they are missing
	@tools/setup.sh install

setup-check: ## tell what setup would install
	@tools/setup.sh check
