#!/bin/sh
# Peak memory of the daemon at full pressure with 1, 2 and 3 seal workers: prints VmHWM of each.
#
#   cargo build --release && benches/memory.sh [SECONDS]
#
# SLUICE_LOAD is a command that loads a server until it is done; the address is put behind it. Without it `sluice
# generate` is used, if this sluice has it.
set -eu

seconds=${1:-60}
binary=${SLUICE_BIN:-${CARGO_TARGET_DIR:-target}/release/sluice}
port=${SLUICE_PORT:-14318}

if [ -z "${SLUICE_LOAD:-}" ]; then
    "$binary" generate --help >/dev/null 2>&1 || { echo "skipped: set SLUICE_LOAD to a command that loads a server" >&2; exit 0; }
    SLUICE_LOAD="$binary generate --seconds $seconds --address"
fi

scratch=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; rm -rf "$scratch"' EXIT

peak() {
    awk '/^VmHWM/ { printf "%.0f", $2 / 1024 }' "/proc/$1/status"
}

for workers in ${SLUICE_WORKERS:-1 2 3}; do
    "$binary" --config "yaml:{receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:$port'}}}}, exporters: {storage: {directory: '$scratch/$workers', wal: {max_size: 256MiB}, seal: {workers: $workers}}}, service: {pipelines: {traces: {receivers: [otlp], exporters: [storage]}}, telemetry: {metrics: {level: none}}}}" 2>"$scratch/log" &
    daemon=$!
    until grep -q "Everything is ready" "$scratch/log"; do
        kill -0 "$daemon" 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
        sleep 0.1
    done
    load=$($SLUICE_LOAD "127.0.0.1:$port" 2>/dev/null | tail -1)
    echo "workers $workers: peak $(peak "$daemon") MiB; $load"
    kill "$daemon"
    wait "$daemon" || true
    daemon=
    rm -rf "${scratch:?}/$workers"
done
