# `make run` and `make test` are all one needs; both set up what is missing.
CARGO ?= cargo

.PHONY: run test test-slow lint setup

# sluice with its built-in configuration.
run: setup
	$(CARGO) run --release

# The gate: what CI runs.
test: lint
	$(CARGO) test

# Format and clippy alone.
lint: setup
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings

# What takes longer than the gate should: a hundred kills of the daemon under load, and three thousand random histories.
test-slow: setup
	SLUICE_KILL_ROUNDS=100 $(CARGO) test --test crash kill -- --nocapture
	SLUICE_HISTORIES=3000 $(CARGO) test --test crash history -- --nocapture

# A linker, and the two parts of the tool chain that a minimal installation lacks.
setup:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { apt-get update && apt-get install --yes gcc libc6-dev; } \
		|| { echo "a C linker is missing: install gcc and libc6-dev" >&2; exit 1; }
	@{ $(CARGO) fmt --version && $(CARGO) clippy --version; } >/dev/null 2>&1 || rustup component add rustfmt clippy
