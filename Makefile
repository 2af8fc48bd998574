# Realmgate. Building and running needs only Go; tests need root and Debian
# packages, which `make test` installs.

GO        ?= go
BIN       := bin/realmgate
LINTER    := bin/tools/golangci-lint
TOOL      := $(GO) tool -modfile=tools/go.mod
# Git may refuse to look at a checkout that belongs to somebody else; the build
# then goes without the commit stamped in. In a linked worktree Go finds no commit
# itself, so the linker is told too.
VCS       := $(if $(shell git rev-parse HEAD 2>/dev/null),auto,false)
COMMIT    := $(shell git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null)

# Without the folder's name in them, another clone or worktree has what this one compiled.
override GOFLAGS := $(strip $(or $(GOFLAGS),$(shell $(GO) env GOFLAGS 2>/dev/null)) -trimpath)
export GOFLAGS

FUZZTIME  ?= 10m
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
DEMOFLAGS ?=
PARTS     ?= slow

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps generate verify-generate format lint build test test-slow test-all test-unit fuzz bench microbench demo packages clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what tests and linters need from Debian (root)
	tools/deps.sh

generate: ## build the BPF objects and their Go types again (clang-19)
	tools/generate.sh

verify-generate: ## fail unless the committed BPF objects are what their source gives
	tools/verify-generate.sh

format: ## write Go and C in their canonical form
	gofmt -w cmd internal test tools
	find bpf internal/nf -name '*.[ch]' -print0 | xargs -0 -r clang-format-19 -i

lint: $(LINTER) ## run every linter
	GOLANGCI_LINT=$(LINTER) tools/lint.sh

# Compiled once for each pinned version; the recipe takes a minute and a half on
# two cores when Go's build cache is empty, and seconds when it is not.
$(LINTER): tools/go.mod tools/go.sum
	@echo "building golangci-lint, once"
	@mkdir -p $(@D)
	$(GO) build -C tools -buildvcs=false -ldflags='-s -w' -o ../$(LINTER) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# Without symbols and DWARF: panics still print their stacks.
build: ## build bin/realmgate; needs only Go
	CGO_ENABLED=0 $(GO) build -buildvcs=$(VCS) -ldflags='-s -w $(if $(COMMIT),-X github.com/realmgate/realmgate/internal/api.revision=$(COMMIT))' -o $(BIN) ./cmd/realmgate

test: ## run the quick tests: objects, linters, unit, data plane, the main stories of whole gateways (root, Debian)
	tools/test.sh quick

test-slow: ## run the slow tests that have not passed at this commit: PARTS='tcx e2e' (all are in docs/guide/develop.md), LIMIT=minutes
	tools/test.sh $(PARTS)

test-all: ## run all tests; what has passed at this commit is not run again
	tools/test.sh all

test-unit: ## run the tests that need no root
	$(GO) test $$($(GO) list ./... | grep -vE '/(test/(browser|datapath|e2e|page)|internal/lab/(demo|netns|oncpu|bench|bench/(dut|scenario|trafficgen)))$$')
	$(GO) test -C tools ./testsummary ./constants

fuzz: ## fuzz every parser for FUZZTIME=10m each; FUZZ=regexp picks some
	FUZZTIME=$(FUZZTIME) tools/fuzz.sh

bench: ## measure Realmgate beside iptables and nftables (root, Debian; SESSIONS=1000000 REPEAT=5)
	tools/bench.sh

microbench: ## run the Go benchmarks (root); BENCH=regexp COUNT=10 OLD=file compares with an earlier run
	@mkdir -p bin
	$(GO) test -run='^$$' -bench='$(BENCH)' -benchtime=$(BENCHTIME) -benchmem -count=$(COUNT) -p=1 -timeout=2h ./... | { grep -v '^?\|no test files' || true; } | tee bin/bench.txt
	$(TOOL) benchstat $(if $(OLD),$(OLD)) bin/bench.txt

demo: ## show a name becoming a connection, in namespaces (root); DEMOFLAGS='--keep' or '--json'
	@if [ "$$(id -u)" -ne 0 ]; then \
	  echo 'make demo needs root: it makes network namespaces and loads BPF programs. Run: sudo env "PATH=$$PATH" make demo' >&2; \
	  exit 1; \
	fi
	@$(MAKE) --no-print-directory build >&2
	@$(BIN) demo $(DEMOFLAGS)

packages: ## make deb, rpm and image, bills of materials and SHA256SUMS in dist/ (docs/guide/packages.md)
	tools/packages.sh

clean: ## remove what was built
	rm -rf bin dist
