.DEFAULT_GOAL := help
.PHONY: help run test check schema clean

help:
	@echo "make run      sets up what is missing and serves the demo on 127.0.0.1:4000"
	@echo "make test     sets up what is missing and runs all tests"
	@echo "make check    formatting, lints, documentation"
	@echo "make schema   writes schema.graphql anew"
	@echo "make clean    removes what was built"

run:
	@scripts/setup.sh build
	cargo run --release --bin likewise -- serve --demo

# Unit tests of all crates, then the integration tests on every back end, which come last: `cargo test --test it -- WORD`
# runs those with WORD in their names.
test:
	@scripts/setup.sh test
	cargo test --workspace --all-targets --no-fail-fast

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
