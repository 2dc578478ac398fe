# Targets are steps of one line or a script; `make help` lists them.
# Every module is checked outside the workspace too (GOWORK=off), as its users see it.
SHELL := bash
MODULES := . $(sort $(patsubst ./%/go.mod,%,$(shell find ./*/ -name go.mod -not -path '*/.*/*' -not -path '*/testdata/*')))
NESTED := $(filter-out . tools,$(MODULES))
TOOL := GOWORK=off go tool -modfile=$(CURDIR)/tools/go.mod
each = @set -e; for m in $(1); do echo "-- $$m: $(2)"; (cd $$m && export GOWORK=off && $(2)); done

.DEFAULT_GOAL := help
.PHONY: run test race sim bench drill deps lint vuln help

run: ## run the example shop, or go on with it (ARGS="...")
	cd examples && GOWORK=off go run ./orders $(ARGS)

test: deps ## vet, build and test every module
	go vet work
	go test $$(go list work | grep -v /internal/sim$$)
	@set -o pipefail; echo "go test ./internal/sim"; go test -v ./internal/sim | grep -v '^=== \|^ *--- PASS'
	$(call each,. $(NESTED),go build -o /dev/null ./...)
	$(call each,$(NESTED),go vet ./... && go test ./...)

race: deps ## the shipped modules under the race detector, with fewer seeds (AX_SEEDS)
	@command -v $$(go env CC) >/dev/null || { echo "SKIPPED: race: no C compiler"; exit 0; }; \
		set -x; AX_SEEDS=$${AX_SEEDS:-200} go test -race work

sim: ## simulate a cluster under faults (SEEDS=100000; rerun one: AX_SEED=n)
	AX_SEEDS=$(or $(SEEDS),20000) go test ./internal/sim -run TestSeeds -count=1 -timeout=0 -v

bench: ## list the load scenarios, or run one (SCENARIO=name ARGS="...")
	cd bench && GOWORK=off go run ./cmd/axbench $(or $(SCENARIO),list) $(ARGS)

drill: ## everything at full count, written to docs/drills.md (SEEDS=20000)
	SEEDS=$(or $(SEEDS),20000) scripts/drill

deps: ## install the system packages that suites need, or say which are skipped
	@scripts/deps

lint: ## gofmt, vet (three systems), staticcheck, modernizers, tidiness, vulnerabilities
	@bad=$$(find . -name '*.go' -not -path '*/.*/*' -exec gofmt -l {} +); \
		[ -z "$$bad" ] || { echo "gofmt wants to change:"; echo "$$bad"; exit 1; }
	$(call each,$(MODULES),go mod tidy -diff)
	$(call each,$(MODULES),go vet ./...)
	GOOS=darwin go vet work
	GOOS=windows go vet work
	$(call each,$(MODULES),go fix -diff ./...)
	$(call each,$(MODULES),$(TOOL) staticcheck ./...)
	@$(MAKE) --no-print-directory vuln

vuln: ## known vulnerabilities that our calls reach
	cd tools && export GOWORK=off && go test ./vulncheck && go run ./vulncheck .. $(addprefix ../,$(NESTED))

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
