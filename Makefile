# Every target says what it does in the comment after ##; `make help` shows them.

GO           ?= go
PACKAGES     ?= ./...
TEST_TIMEOUT ?= 15m
TEST_FLAGS   ?=
FUZZ_TIME    ?= 30s
BENCH_TIME   ?= 1s
COVERAGE     ?= coverage.out

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install what the tests need beyond Go (Debian; only what is missing)
	@scripts/deps

.PHONY: build
build: ## compile everything
	$(GO) build $(PACKAGES)

.PHONY: test
test: deps ## run the tests with the race detector
	$(GO) test -race -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PACKAGES)

.PHONY: cover
cover: ## run the tests as `make test` does, print coverage, fail below the thresholds
	@$(MAKE) --no-print-directory test \
		TEST_FLAGS="$(TEST_FLAGS) -covermode=atomic -coverpkg=./... -coverprofile=$(COVERAGE)"
	@scripts/cover $(COVERAGE)

.PHONY: bench
bench: ## run the benchmarks (BENCH_TIME=1s)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCH_TIME) -timeout 60m $(PACKAGES)

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
cross: ## check that everything compiles for Windows and macOS, tests included
	GOOS=windows GOARCH=amd64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...

.PHONY: ci
ci: ## run everything that must pass before a change is accepted
	@.ci/run
