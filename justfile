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
    scripts/format
    cargo clippy --workspace --all-targets -- -D warnings
    scripts/wasm --clippy

# SQL on an embedded sample origin.
demo *ARGS:
    cargo run --release -p farquet-cli -- demo {{ARGS}}

# The loopback origin of the tests, for experiments: just origin --help
origin *ARGS:
    cargo run --release -p farquet-testkit --bin farquet-origin -- {{ARGS}}

# The browser's module, a build of wasm-pack.toml (release or test), and the npm package around it.
wasm BUILD="release":
    scripts/wasm {{BUILD}}
    npm --prefix web run build

# The browser tests whose file names contain PART, on the package as it was built last.
test-browsers PART="":
    scripts/test-browsers {{PART}}

# The size of the module beside the one that is checked in; --write checks it in.
size *ARGS: wasm
    node web/size.mjs {{ARGS}}

# A dashboard over the sample origin in a browser.
demo-web *ARGS:
    cargo build --release -p farquet-testkit
    node web/demo/serve.mjs {{ARGS}}

# The package beside hyparquet, parquet-wasm, duckdb-wasm and bare fetches, in one Chromium run. Not part of CI.
bench-browser *ARGS:
    cargo build --release -p farquet-testkit
    npm --prefix web/bench ci --silent
    node web/bench/run.mjs {{ARGS}}

# Cold time to a first answer, with the package coming at 2 MB/s, in both browsers. Not part of CI.
start-browser *ARGS:
    cargo build --release -p farquet-testkit
    node web/bench/start.mjs {{ARGS}}

# farquet beside DuckDB, Polars and the floor, in one run: medians and ratios. Not part of CI.
bench-peers *ARGS:
    bench/run {{ARGS}}

# A dashboard of 25 queries over 60 small files beside the same: cold, 4 at a time, one by one, reload. Not part of CI.
bench-dashboard *ARGS:
    bench/dashboard {{ARGS}}

# The cache alone: a hit, a miss and a put that evicts, at three sizes. Not part of CI.
bench-cache *ARGS:
    cargo bench --locked -p farquet-core --features bench --bench cache -- {{ARGS}}
