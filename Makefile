# Every target says what it does in the comment after ##; `make help` shows them.

GO           ?= go
PACKAGES     ?= ./...
TEST_TIMEOUT ?= 15m
TEST_FLAGS   ?=
FUZZ_TIME    ?= 30s
BENCH_TIME   ?= 1s
COVERAGE     ?= coverage.out
STORES_COVERAGE ?= coverage-stores.out
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TARGETS      ?= linux/amd64 linux/arm64 darwin/arm64 windows/amd64

# SQLite is C that a program made Go: its memory is its own, so the race detector finds
# nothing there, and would take most of the time of the tests.
RACE = -race -gcflags=modernc.org/...=-race=false

# What is shipped: one static file that knows its version.
BUILD_BINARY = CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install what all tests need beyond Go (Debian; only what is missing)
	@scripts/deps redis-server etcd-server postgresql pgbouncer

.PHONY: deps-test
deps-test:
	@scripts/deps

.PHONY: deps-emulators
deps-emulators: test/emulators/node_modules/.package-lock.json ## install the emulators that test-stores needs (npm; once)

.PHONY: build
build: ## compile everything
	$(GO) build $(PACKAGES)

.PHONY: binary
binary: ## build the program into .bin/leasehold
	$(BUILD_BINARY) -o .bin/leasehold ./cmd/leasehold

# Three packages at a time, because many tests wait; vet runs in `make lint`, and
# `make soak` draws more of each property, `make test-stores` starts servers.
.PHONY: test
test: deps-test ## run the tests with the race detector
	LEASEHOLD_TEST_STORES=0 RAPID_CHECKS=$${RAPID_CHECKS:-25} $(GO) test $(RACE) -vet=off -p 3 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PACKAGES)

# Their servers must be there: a missing one is a failure.
.PHONY: test-stores
test-stores: deps deps-emulators ## run the tests of the stores against real servers on loopback, with coverage
	@GO=$(GO) RACE="$(RACE)" scripts/test-stores -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) -coverprofile=$(STORES_COVERAGE)
	@scripts/cover $(STORES_COVERAGE) stores

.PHONY: soak
soak: deps deps-emulators deps-console ## run the long forms of the crash, simulation and property tests
	@GO=$(GO) RACE="$(RACE)" scripts/soak

.PHONY: cover
cover: ## run the tests as `make test` does, print coverage, fail below the thresholds
	@$(MAKE) --no-print-directory test \
		TEST_FLAGS="$(TEST_FLAGS) -covermode=atomic -coverpkg=./... -coverprofile=$(COVERAGE)"
	@scripts/cover $(COVERAGE)

.PHONY: test-sdks
test-sdks: test/sdk-js/node_modules/.package-lock.json test/openapi/node_modules/.package-lock.json ## try the APIs with Azure's own JavaScript SDK and with a client made from the OpenAPI document
	cd test/sdk-js && node run.js
	cd test/openapi && node run.js

# The tools must be there: a missing one is a failure.
.PHONY: test-observability
test-observability: deps-observability test/observability/node_modules/.package-lock.json ## check dashboard, rules, routes and queries with their makers' tools, and against a real server
	cd test/observability && node check.js
	LEASEHOLD_TEST_STORES=1 $(GO) test $(RACE) -vet=off -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/observability/...

# The browser must be there: a missing one is a failure.
.PHONY: test-console
test-console: deps-console ## try the web console in a real browser, headless Chromium
	LEASEHOLD_TEST_CONSOLE=1 $(GO) test $(RACE) -vet=off -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/console

.PHONY: deps-console
deps-console: test/console/node_modules/.package-lock.json
	@scripts/deps chromium

.PHONY: images
images: deps-console ## take the screenshots of docs/console.md anew
	LEASEHOLD_TEST_CONSOLE=1 LEASEHOLD_UPDATE_IMAGES=$(CURDIR)/docs/images $(GO) test -count=1 -run '^TestScreenshots$$' ./test/console

.PHONY: deps-observability
deps-observability:
	@scripts/deps prometheus prometheus-alertmanager

.PHONY: observe
observe: deps-observability binary ## start Prometheus beside a server under load, on loopback, until Ctrl-C
	@$(GO) build -o .bin/observe ./test/observability/observe
	@.bin/observe -leasehold .bin/leasehold

# npm writes this file last, so what is installed already is not asked for again.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@scripts/deps nodejs npm
	cd $* && npm ci
	@touch $@

.PHONY: bench
bench: ## run the benchmarks (BENCH_TIME=1s)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCH_TIME) -timeout 60m $(PACKAGES)

.PHONY: bench-before
bench-before: ## measure beside an older commit, in turns (BEFORE=COMMIT BENCH=Pairs ROUNDS=11)
	@GO=$(GO) scripts/bench-before "$(BEFORE)" $(BENCH) $(ROUNDS)

.PHONY: bench-peers
bench-peers: binary ## measure beside etcd, on this machine (Debian's etcd-server is installed if missing)
	@scripts/deps etcd-server
	cd bench/peers && $(GO) run . -leasehold ../../.bin/leasehold

.PHONY: bench-blob
bench-blob: binary bench/blob/node_modules/.package-lock.json ## measure beside azurite, on this machine (installed by npm)
	cd bench/blob && $(GO) run . -leasehold ../../.bin/leasehold

.PHONY: bench-readers
bench-readers: binary ## measure grants and blob reads beside event streams and scans of the history
	cd bench/readers && $(GO) run . -leasehold ../../.bin/leasehold

.PHONY: bench-stores
bench-stores: binary deps deps-emulators ## measure each store beside its bare client, on this machine
	$(GO) run ./bench/stores

.PHONY: bench-check
bench-check: ## vet and test the programs that measure, which are modules of their own
	cd bench/readers && $(GO) vet . && $(GO) test .
	cd bench/peers && $(GO) vet . && $(GO) test .
	cd bench/blob && $(GO) vet . && $(GO) test .

.PHONY: fuzz
fuzz: ## run every fuzz target for a while (FUZZ_TIME=30s)
	@FUZZ_TIME=$(FUZZ_TIME) GO=$(GO) scripts/fuzz $(PACKAGES)

.PHONY: lint
lint: ## run go vet and staticcheck
	$(GO) vet $(PACKAGES)
	GO=$(GO) scripts/staticcheck $(PACKAGES)

.PHONY: fmt
fmt: ## format the Go files
	gofmt -w .

.PHONY: fmt-check
fmt-check: ## fail if a Go file is not formatted
	@test -z "$$(gofmt -l .)" || { gofmt -d .; echo 'not formatted: run make fmt'; exit 1; }

.PHONY: cross
cross: $(TARGETS:%=cross/%) ## build the program for every system, and vet everything there, tests included (TARGETS=)

cross/%:
	GOOS=$(*D) GOARCH=$(*F) $(BUILD_BINARY) -o .bin/$(*D)-$(*F)/ ./cmd/leasehold
	GOOS=$(*D) GOARCH=$(*F) CGO_ENABLED=0 $(GO) vet $(PACKAGES)

.PHONY: release
release: ## write archives with checksums into dist (VERSION=, TARGETS=)
	$(GO) run ./scripts/release -version "$(VERSION)" -targets "$(TARGETS)" -out dist

.PHONY: ci
ci: ## run everything that must pass before a change is accepted
	@.ci/run
