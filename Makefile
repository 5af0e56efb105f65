GO ?= go
export CGO_ENABLED ?= 1

build: ## build bin/grid and bin/grid-submit
	$(GO) build -o bin/ ./cmd/grid ./cmd/grid-submit

check: ## gofmt, vet, staticcheck, layer test
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'run: gofmt -w .'; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 ./cmd

.PHONY: build check
