#!/bin/sh
# fuzz.sh: every fuzzer of tests/fuzz for $RUNS executions (default 1,000,000) under both sanitizers, from the committed seeds;
# what it finds new stays in build/fuzz/corpus. $FUZZERS: which, by name. Fails with the first finding, whose input lies in build/fuzz.
set -eu
cd "$(dirname "$0")/.."
runs=${RUNS:-1000000}
for program in build/fuzz/fuzz/fuzz_*; do
    name=$(basename "$program" | sed s/^fuzz_//)
    case " ${FUZZERS:-$name} " in *" $name "*) ;; *) continue ;; esac
    mkdir -p "build/fuzz/corpus/$name"
    echo "fuzz: $name, $runs executions"
    "$program" -runs="$runs" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "tests/fuzz/seeds/$name" 2>"build/fuzz/$name.log" || {
        tail -40 "build/fuzz/$name.log" >&2
        echo "fuzz: $name: a finding; its input is build/fuzz/$name-*" >&2
        exit 1
    }
    grep -E 'number_of_executed_units|average_exec_per_sec' "build/fuzz/$name.log"
done
