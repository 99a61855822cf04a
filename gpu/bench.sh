#!/usr/bin/env bash
# Runs `eigenforge bench` with the program that `cargo xtask gpu-test-binaries` built, from the checkout's root, and prints
# device, date and the tables of all benches once more at the end (lines that start with `|`), ready for benches/results.
#
#   gpu/bench.sh                        all benches, bench hubbard --sizes with its picture; some five minutes
#   gpu/bench.sh "hubbard" "xxz --n 24" each argument is one bench with its options
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export EIGENFORGE_ROOT=$PWD
logs=${OUT:-$PWD/gpu/logs}
mkdir -p "$logs"

# The programs travel packed.
for packed in gpu/bin/*.gz; do
    [ -f "$packed" ] && gunzip --force "$packed"
done
if [ ! -f gpu/bin/eigenforge ]; then
    echo "gpu/bin/eigenforge is not there: run \`cargo xtask gpu-test-binaries\` on a machine with Rust first" >&2
    exit 2
fi
chmod +x gpu/bin/eigenforge 2>/dev/null
# Sectors of more than 1.1e9 states are asked for by name: they take longer than all others together.
[ $# -gt 0 ] || set -- hubbard "hubbard --sizes --largest 1100000000 --picture $logs/multiply_sizes.svg" ci \
    dmrg "dmrg --projection --repeats 5" "dmrg --sweeps --seconds 1.5" "dmrg --growth" spins su3

table=
failed=0
number=0
for bench in "$@"; do
    number=$((number + 1))
    log=$logs/bench-$number.log
    echo "=== eigenforge bench $bench"
    started=$SECONDS
    # The bench's options are words of one argument.
    # shellcheck disable=SC2086
    gpu/bin/eigenforge bench $bench 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    table+=$'\n'"bench $bench: $((SECONDS - started)) s"
    if [ "$status" -ne 0 ]; then table+=": FAILED($status)" failed=1; fi
    table+=$'\n'$(grep -E '^(\||cliff|no cliff|picture)' "$log")$'\n'
done

device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
printf '\n%s, %s\n' "${device:-no GPU}" "$(date -u +%Y-%m-%d)"
printf '%s' "$table"
exit $failed
