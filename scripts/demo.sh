#!/bin/sh
# demo.sh [MODEL]: compiles a network to C, builds that with this machine's compiler, runs it and says what it costs.
# Without MODEL: the project's own network for handwritten digits, on images that it was not trained on, shown as pictures.
# MODEL: any file that burin reads, on made-up inputs. Writes under build/demo only.
# Environment: BURIN (the command), CC (the compiler), BURIN_DEMO (the folder to write in).
set -eu
here=$(pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# from_here PATH: what the caller meant by it
from_here() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$here" "$1" ;;
    esac
}
burin=build/release/burin
work=build/demo
[ -z "${BURIN:-}" ] || burin=$(from_here "$BURIN")
[ -z "${BURIN_DEMO:-}" ] || work=$(from_here "$BURIN_DEMO")
cc=${CC:-gcc}
if [ $# -gt 0 ]; then
    name=net model=$(from_here "$1") program=demo/any_main.c tests=2
else
    name=digits model=demo/digits.tflite program=demo/digits_main.c tests=8
fi
out=$work/$name
[ -x "$burin" ] || { echo "demo: no $burin: run make first" >&2; exit 1; }
# shellcheck disable=SC2086
echo 'int main(void) { return 0; }' | $cc -x c -fsyntax-only - 2>/dev/null || { echo "demo: no C compiler: $cc" >&2; exit 1; }
native=-march=native
# shellcheck disable=SC2086
echo 'int main(void) { return 0; }' | $cc $native -x c -fsyntax-only - 2>/dev/null || native=

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
# say COMMAND...: shows it as a person would type it, and runs it
say() {
    printf '%s\n' "$bold\$ $*$plain"
    "$@"
}
flags="-std=c11 -O3${native:+ $native} -Wall -Wextra"

rm -rf "$out"
mkdir -p "$work"
if [ $# -gt 0 ]; then
    say "$burin" inspect "$model"
    echo
fi
say "$burin" compile "$model" -o "$out" --prefix $name --layout single --test $tests
echo
# shellcheck disable=SC2086
{
    say $cc $flags "$out/$name.c" "$out/${name}_test.c" -o "$out/${name}_test" -lm
    say "$out/${name}_test"
    echo
    say $cc $flags -I "$out" $program demo/timing.c "$out/$name.c" -o "$out/$name" -lm
}
if [ $# -gt 0 ]; then
    say "$out/$name"
else
    say "$out/$name" demo/heldout.txt
fi

# What it costs: the plan's RAM beside the bound under which no plan of this order can go; the flash of a build for size,
# at fixed addresses as on a board. And once more what the check did.
# shellcheck disable=SC2086
$cc -std=c99 -Os -fno-pie -fno-asynchronous-unwind-tables -c "$out/$name.c" -o "$out/$name-small.o"
python3 - "$out/${name}_plan.json" "$(size "$out/$name-small.o" | tail -n 1)" "$cc -Os, $(uname -m)" <<'END'
import json
import sys

plan = json.load(open(sys.argv[1], encoding="utf-8"))
text, data, bss = sys.argv[2].split()[:3]
arena, check = plan["arena"], plan["check"]
over = f"{100 * (arena['bytes'] / arena['lower_bound'] - 1):.1f} % above" if arena["bytes"] > arena["lower_bound"] else "at"
print(f"RAM        {arena['bytes']:,} bytes, {over} the lower bound of {arena['lower_bound']:,}; {plan['state_bytes']:,} of state")
print(f"flash      {int(text):,} bytes of code and constants ({sys.argv[3]}), {plan['constant_bytes']:,} of them weights; "
      f".data {data}, .bss {bss}")
print(f"check      {check['sampled']:,} of {check['elements']:,} elements for {check['cases']} inputs, operator by operator: what the "
      f"evaluator says ({check['compiler']} {check['flags']})" if check["checked"] else f"check      not checked: {check['why']}")
END
