# Lists the recipes.
default:
    @just --list

# What CI runs: installs what is missing, then every check and test.
ci:
    scripts/ci

# Installs what the tests need.
setup:
    scripts/setup

# The tests, or those whose name contains FILTER.
test FILTER="":
    cargo nextest run --release --workspace {{FILTER}}

# The core alone: no engine is built for it.
test-core:
    scripts/check-core

# Formatting and lints, as CI wants them.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# SQL on an embedded sample origin.
demo *ARGS:
    cargo run --release -p farquet-cli -- demo {{ARGS}}

# The loopback origin of the tests, for experiments: just origin --help
origin *ARGS:
    cargo run --release -p farquet-testkit --bin farquet-origin -- {{ARGS}}

# farquet beside DuckDB, Polars and the floor, in one run: medians and ratios. Not part of CI.
bench-peers *ARGS:
    bench/run {{ARGS}}

# A dashboard of 25 queries over 60 small files beside the same: cold, 4 at a time, one by one, reload. Not part of CI.
bench-dashboard *ARGS:
    bench/dashboard {{ARGS}}

# The cache alone: a hit, a miss and a put that evicts, at three sizes. Not part of CI.
bench-cache *ARGS:
    cargo bench --locked -p farquet-core --features bench --bench cache -- {{ARGS}}
