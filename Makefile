.DEFAULT_GOAL := help
.PHONY: help run node pages test chaos check schema clean

help:
	@echo "make run      sets up what is missing and serves the demo on 127.0.0.1:4000"
	@echo "make node     brings Node into .tools/ where it is missing, for the pages: \`make node run\`"
	@echo "make test     sets up what is missing and runs all tests"
	@echo "make chaos    breaks a cluster for MINUTES=2 by the plan of a SEED, and proves that nothing was lost or doubled"
	@echo "make check    formatting, lints, documentation"
	@echo "make schema   writes schema.graphql anew"
	@echo "make clean    removes what was built"

run:
	@scripts/setup.sh build
	@if $(NODE) true; then $(MAKE) --no-print-directory pages || echo "$(NO_NEW_PAGES)" >&2; fi
	cargo run --release --bin likewise -- serve --demo

NO_NEW_PAGES = The pages could not be built. What follows has those of an earlier build or none, and everything else.

node:
	@scripts/node.sh

# Runs a command with the machine's Node or the one in .tools/, and names `make node` where there is neither. A path from
# here on: the folder's own may have spaces.
NODE = scripts/with-node.sh
NPM = $(NODE) npm --prefix
PACKAGES = client-demo tests/snippets tests/e2e

# The demo page and GraphiQL, which the next build of the server embeds.
pages: client-demo/build/pages/index.html

PAGE_SOURCES = $(wildcard client-demo/*.html client-demo/*.json client-demo/*.ts) schema.graphql \
	$(shell find client-demo/scripts client-demo/src -type f ! -name generated.ts)

client-demo/build/pages/index.html: client-demo/node_modules/.package-lock.json $(PAGE_SOURCES)
	$(NPM) client-demo run build

%/node_modules/.package-lock.json: %/package-lock.json
	$(NPM) $* ci
	@touch $@

# Tests of the pages' code; unit tests of all crates and the integration tests on every back end (`cargo test --test it --
# WORD` runs those with WORD in their names); the README's snippets; the pages in a browser; then three short chaos runs,
# one of them with a seed that nobody has seen before.
test:
	@scripts/setup.sh test
	$(MAKE) --no-print-directory pages $(PACKAGES:%=%/node_modules/.package-lock.json)
	$(NPM) client-demo test
	cargo test --workspace --all-targets --no-fail-fast
	$(NPM) tests/snippets test
	$(NPM) tests/e2e test
	$(CHAOS) --seed 1 --seconds 45
	$(CHAOS) --seconds 45
	$(CHAOS) --seconds 20 --backend sqlite

# docs/reliability.md says what it does and how to read what it prints.
CHAOS = cargo run --quiet --package likewise-tests --bin chaos --
MINUTES ?= 2

chaos:
	@scripts/setup.sh test
	$(CHAOS) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(BACKEND),--backend $(BACKEND))

check: $(PACKAGES:%=%/node_modules/.package-lock.json)
	for package in $(PACKAGES); do $(NPM) $$package run check || exit 1; done
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

schema:
	@scripts/setup.sh build
	cargo run --quiet --bin likewise -- schema > schema.graphql.new
	mv schema.graphql.new schema.graphql

clean:
	cargo clean
	rm -rf client-demo/build/pages $(PACKAGES:%=%/node_modules) .tools
