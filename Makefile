.DEFAULT_GOAL := help
.PHONY: help run test chaos check schema clean

help:
	@echo "make run      sets up what is missing and serves the demo on 127.0.0.1:4000"
	@echo "make test     sets up what is missing and runs all tests"
	@echo "make chaos    breaks a cluster for MINUTES=2 by the plan of a SEED, and proves that nothing was lost or doubled"
	@echo "make check    formatting, lints, documentation"
	@echo "make schema   writes schema.graphql anew"
	@echo "make clean    removes what was built"

run:
	@scripts/setup.sh build
	cargo run --release --bin likewise -- serve --demo

# Unit tests of all crates, then the integration tests on every back end (`cargo test --test it -- WORD` runs those with
# WORD in their names), then three short chaos runs, one of them with a seed that nobody has seen before.
test:
	@scripts/setup.sh test
	cargo test --workspace --all-targets --no-fail-fast
	$(CHAOS) --seed 1 --seconds 45
	$(CHAOS) --seconds 45
	$(CHAOS) --seconds 20 --backend sqlite

# docs/reliability.md says what it does and how to read what it prints.
CHAOS = cargo run --quiet --package likewise-tests --bin chaos --
MINUTES ?= 2

chaos:
	@scripts/setup.sh test
	$(CHAOS) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(BACKEND),--backend $(BACKEND))

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

schema:
	@scripts/setup.sh build
	cargo run --quiet --bin likewise -- schema > schema.graphql.new
	mv schema.graphql.new schema.graphql

clean:
	cargo clean
