#!/usr/bin/env bash
# Runs the test programs that `cargo xtask gpu-test-binaries` built, on a machine with a GPU and no Rust, from the
# checkout's root: first all tests, then those whose names contain `memcheck` under compute-sanitizer. A table comes last.
#
#   gpu/test.sh            everything
#   gpu/test.sh FILTER     only tests whose names contain FILTER
#
# MEMCHECK=0 leaves compute-sanitizer out, LONG=0 the long runs that are ignored elsewhere (exact solutions by DMRG, larger tori). Each test program has its log in gpu/logs; all together are in tests.log, in
# $OUT when that is set (one file, since only a few come back from there), else in gpu/logs.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export EIGENFORGE_ROOT=$PWD
export EIGENFORGE_BIN=$PWD/gpu/bin/eigenforge
export EIGENFORGE_TEST_DEVICE=cuda
# Tests of the simulated device need a C++ compiler, which a machine for GPUs may lack.
command -v g++ >/dev/null || command -v clang++ >/dev/null || command -v c++ >/dev/null || export EIGENFORGE_TEST_WITHOUT=compiler
export EIGENFORGE_CACHE=${EIGENFORGE_CACHE:-$PWD/target/test-kernels}
filter=${1:-}
logs=$PWD/gpu/logs
all=${OUT:-$logs}/tests.log
mkdir -p "$logs" "${OUT:-$logs}"
: >"$all"

# The programs travel packed.
for packed in gpu/bin/*.gz; do
    [ -f "$packed" ] && gunzip --force "$packed"
done
if [ ! -f gpu/bin/run-list ]; then
    echo "gpu/bin/run-list is not there: run \`cargo xtask gpu-test-binaries\` on a machine with Rust first" >&2
    exit 2
fi
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
fi

table=
failed=0
# row NAME CHECK STATUS SECONDS LOG: a line of the table, with the counts of the test program's last line.
row() {
    local counts verdict=passed
    counts=$(grep -E '^test result:' "$5" | tail -n 1 | sed -E 's/.* ([0-9]+) passed; ([0-9]+) failed; ([0-9]+) ignored.*/\1 \2/')
    set -- "$1" "$2" "$3" "$4" ${counts:-"- -"}
    if [ "$3" -ne 0 ]; then verdict="FAILED($3)" failed=1; fi
    table+=$(printf '%-36s %-9s %7s %7s %8s  %s' "$1" "$2" "$5" "$6" "$4" "$verdict")$'\n'
}

chmod +x "$EIGENFORGE_BIN" 2>/dev/null
while read -r name program; do
    chmod +x "$program" 2>/dev/null
    log=$logs/$name.log
    echo "=== $name" | tee -a "$all"
    start=$SECONDS
    "$program" $filter 2>&1 | tee "$log" | tee -a "$all" | grep -vE '^test .* \.\.\. ok$|^$'
    row "$name" tests "${PIPESTATUS[0]}" $((SECONDS - start)) "$log"
done <gpu/bin/run-list

if [ "${LONG:-1}" != 0 ] && [ -z "$filter" ]; then
    while read -r name program; do
        "$program" --list --ignored evidence:: anchors:: 2>/dev/null | grep -q ': test$' || continue
        log=$logs/$name.long.log
        echo "=== $name, long runs" | tee -a "$all"
        start=$SECONDS
        "$program" --ignored evidence:: anchors:: --test-threads 1 2>&1 | tee "$log" | tee -a "$all" | grep -vE '^test .* \.\.\. ok$|^$'
        row "$name" long "${PIPESTATUS[0]}" $((SECONDS - start)) "$log"
    done <gpu/bin/run-list
fi

if [ "${MEMCHECK:-1}" != 0 ]; then
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
    if [ -z "$sanitizer" ]; then
        echo "compute-sanitizer is not on this machine: memcheck is left out"
    else
        while read -r name program; do
            "$program" --list memcheck 2>/dev/null | grep -q ': test$' || continue
            log=$logs/$name.memcheck.log
            echo "=== $name under memcheck" | tee -a "$all"
            start=$SECONDS
            # Every vector with memory of its own, whose end the sanitizer knows.
            EIGENFORGE_ARENA=separate "$sanitizer" --tool memcheck --target-processes application-only --leak-check no --error-exitcode 99 "$program" memcheck --test-threads 1 2>&1 |
                tee "$log" | tee -a "$all" | grep -vE '^test .* \.\.\. ok$|^$'
            row "$name" memcheck "${PIPESTATUS[0]}" $((SECONDS - start)) "$log"
        done <gpu/bin/run-list
    fi
fi

{
    printf '\n%-36s %-9s %7s %7s %8s  %s\n' program check passed failed seconds verdict
    printf '%s' "$table"
} | tee -a "$all"
exit $failed
