# Two targets do everything: "make demo" runs the main job, "make test" runs
# all tests and installs from Debian's packages what they need.

GO     ?= go
PREFIX ?= /usr/local
FUZZTIME ?= 30s
# Further captures and traces to test with, where they lie beside the checkout.
export GRID_TESTDATA ?= $(wildcard $(abspath ../shared/data))

help: ## this text
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

build: ## build bin/grid, bin/grid-submit, bin/grid-launch and bin/grid-deploy
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/ ./cmd/grid ./cmd/grid-submit ./cmd/grid-launch ./cmd/grid-deploy

demo: build ## run a job over an embedded grid of local sites and show plan and output
	@testdata/demo/demo.sh

test: ## install what the tests need (root or sudo), start the real servers, run every test
	@testdata/testbed/run-tests.sh

test-long: ## a million jobs through a simulated grid with faults, kills at every step, every reference point, many seeds of the models (hours)
	GRID_SIM_SUBMISSIONS=1000000 $(GO) test -count=1 -timeout 60m -v -run TestSimulation ./jobs/simtest
	GRID_LONG=1 $(GO) test -count=1 -timeout 120m -run "TestKilledAtEveryStep|KilledAtCalls|TestPowerLost|TestDiskFails|IsKilled$$|Queries" ./jobs ./cmd/grid
	$(GO) test -count=1 -timeout 4h -run 'TestSimulation$$' ./forecast/scheduler -seeds 100 -hours 24
	GRID_LONG=1 $(GO) test -count=1 -timeout 4h -v -run Reference ./forecast/... ./readahead
	GRID_LONG=1 $(GO) test -count=1 -timeout 60m -run 'Test(Plain|Live|SlurmGates|SlurmGivesWayRun|SlurmBookedRun|SlurmRun|SlurmJoined|MauiTable|MauiNodeOracle|Oracle|Near|EngineAsked)$$' ./batch

unit: ## every test that needs no server
	$(GO) test -race ./...

release: ## archives, .deb and .rpm, licences, bills of materials and checksums in dist/: the same commit gives the same bytes
	@testdata/release.sh dist

release-check: ## make the release twice and compare; install, use and remove the .deb below a directory of its own
	@testdata/release/check.sh

# What the programs are made for; environments and their launchers need Linux.
PLATFORMS = linux/amd64 linux/arm64 darwin/arm64 freebsd/amd64

check: ## gofmt, vet, staticcheck, layer test, known vulnerabilities; vet of what differs between platforms
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'run: gofmt -w .'; exit 1; }
	$(GO) vet ./...
	@$(MAKE) --no-print-directory vet-platforms PLATFORM_DIRS="./environment ./plugins/local ./plugins/remote"
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 ./cmd
	@testdata/vuln.sh

# Some minutes for each platform when nothing of it was built before; "make check" vets the
# packages that differ.
PLATFORM_DIRS ?= ./cmd/grid ./cmd/grid-submit ./environment ./plugins/local ./plugins/remote
vet-platforms: ## vet what the programs are made of, tests left out, for every platform of the release
	@for p in $(PLATFORMS); do \
		export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
		for d in $(PLATFORM_DIRS); do \
			$(GO) vet $$($(GO) list -f '{{range .GoFiles}}{{$$.Dir}}/{{.}} {{end}}' $$d) || { echo "$$d, $$p"; exit 1; }; \
		done; \
	done

schemas: ## make docs/schema from the types
	$(GO) run ./cmd/schemas docs/schema

bench: ## every benchmark
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## every fuzz test for FUZZTIME each
	@testdata/fuzz.sh $(FUZZTIME)

testbed-up: ## start the real servers on loopback: A-REX, BDII, Slurm, HTCondor, PostgreSQL, VOMS, an OpenID Connect issuer, Nagios, Ganglia, Prometheus
	@testdata/testbed/testbed.sh up

testbed-down: ## stop them
	@testdata/testbed/testbed.sh down

install: build ## install the programs, man pages and shell completion below PREFIX
	install -Dm755 -t $(DESTDIR)$(PREFIX)/bin bin/grid bin/grid-submit bin/grid-launch bin/grid-deploy
	bin/grid man $(DESTDIR)$(PREFIX)/share/man/man1
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/man/man1 testdata/release/man/*.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	bin/grid completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/grid
	bin/grid completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_grid
	bin/grid completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/grid.fish

clean: ## remove what was built
	rm -rf bin dist

.DEFAULT_GOAL := help
.PHONY: help build demo test test-long release release-check unit check vet-platforms schemas bench fuzz testbed-up testbed-down install clean
