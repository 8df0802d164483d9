#!/usr/bin/env python3
"""Writes src/base/fixed_math_tables.c: every constant and polynomial of the fixed math words.

Takes mpmath's arbitrary precision arithmetic; gives the C text on standard output, the same bytes each time.
Run it only to change a table: python3 scripts/math_tables.py > src/base/fixed_math_tables.c
"""

import sys

from mpmath import atan, chebyfit, cos, erf, exp, floor, log, mp, mpf, nint, pi, sin, sinh, sqrt, tanh

mp.prec = 400
OUT = []


def c(v):
    return float(v).hex()


def pair(v):
    hi = mpf(float(v))
    return "{%s, %s}" % (c(hi), c(v - hi))


def array(comment, declaration, items, per_line):
    OUT.append("/* %s */" % comment)
    OUT.append("const %s = {" % declaration)
    for i in range(0, len(items), per_line):
        OUT.append("    " + ", ".join(items[i : i + per_line]) + ",")
    OUT.append("};")
    OUT.append("")


def fit(f, low, high, n, bound):
    """n coefficients, lowest first, of a near-minimax polynomial; the fit's absolute error must stay below bound."""
    tiny = mpf(2) ** -100  # f is 0/0 at 0, where its value differs by less than that from the neighbour's
    coefficients, error = chebyfit(lambda t: f(t if abs(t) > tiny else tiny), [low, high], n, error=True)
    if error > bound:
        sys.exit("fit misses its bound: %s > %s" % (mp.nstr(error, 5), mp.nstr(mpf(bound), 5)))
    return [c(k) for k in reversed(coefficients)]


def polynomial(comment, name, f, low, high, n, bound):
    array(comment, "double base_math_%s[%d]" % (name, n), fit(f, mpf(low), mpf(high), n, bound), 4)


def main():
    array(
        "2^(j/128), high and low part",
        "base_dd base_math_exp2[128]",
        [pair(mpf(2) ** (mpf(j) / 128)) for j in range(128)],
        2,
    )
    rows = []
    for i in range(90, 183):
        inverse = nint(mpf(128) / i * 2**11) / 2**11
        value = -log(inverse)
        hi = nint(value * 2**42) / mpf(2) ** 42
        rows.append("{%s, %s, %s}" % (c(inverse), c(hi), c(value - hi)))
    array(
        "for m near i/128, i = 90..182: 1/m to 12 bits, and -log of that: a multiple of 2^-42, and the rest",
        "base_math_log_row base_math_log_table[93]",
        rows,
        1,
    )
    array(
        "atan(i/16), high and low part",
        "base_dd base_math_atan_table[17]",
        [pair(atan(mpf(i) / 16)) for i in range(17)],
        2,
    )
    words, rest = [0, 0], 2 / pi
    mp.prec = 1400
    rest = 2 / pi
    for _ in range(38):
        rest *= 2**32
        words.append(int(floor(rest)))
        rest -= floor(rest)
    mp.prec = 400
    array(
        "2/pi, after 64 bits of 0, most significant word first",
        "uint32_t base_math_two_over_pi[40]",
        ["0x%08x" % w for w in words],
        8,
    )
    end = (pi / 4) ** 2 + mpf(2) ** -20
    polynomial(
        "(sin(r)/r - 1)/z of z = r^2, |r| <= pi/4",
        "sin",
        lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z,
        0,
        end,
        7,
        2.0**-60,
    )
    polynomial(
        "(cos(r) - 1 + z/2)/z^2 of z = r^2", "cos", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, 0, end, 7, 2.0**-62
    )
    polynomial(
        "(e^x - 1 - x - x^2/2)/x^3, |x| <= 0.36",
        "expm1",
        lambda x: (exp(x) - 1 - x - x * x / 2) / x**3,
        "-0.36",
        "0.36",
        10,
        2.0**-56,
    )
    polynomial(
        "(sinh(x)/x - 1)/z of z = x^2, |x| <= 0.36",
        "sinh",
        lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z,
        0,
        "0.13",
        6,
        2.0**-58,
    )
    polynomial(
        "(tanh(x)/x - 1)/z of z = x^2, |x| <= 0.36",
        "tanh",
        lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z,
        0,
        "0.13",
        10,
        2.0**-57,
    )
    slope = 2 / sqrt(pi)
    polynomial(
        "(erf(x)/x - 2/sqrt(pi))/z of z = x^2, |x| <= 1/2",
        "erf",
        lambda z: (erf(sqrt(z)) / sqrt(z) - slope) / z,
        0,
        "0.25",
        9,
        2.0**-58,
    )
    rows = []
    for i in range(2, 24):
        m = (mpf(i) + mpf(1) / 2) / 4
        mp.prec = 600
        k = fit(lambda d: (erf(m + d) - erf(m)) / d, mpf("-0.125"), mpf("0.125"), 12, 2.0**-56)
        mp.prec = 400
        rows.append(
            "{%s,\n     {%s,\n      %s,\n      %s}}"
            % (pair(erf(m)), ", ".join(k[0:4]), ", ".join(k[4:8]), ", ".join(k[8:12]))
        )
    array(
        "i = 2..23, m = (i + 1/2)/4: erf(m), and (erf(m + d) - erf(m))/d for |d| <= 1/8",
        "base_math_erf_row base_math_erf_table[22]",
        rows,
        1,
    )
    print("/* fixed_math_tables.c - the constants of the fixed math words; written by scripts/math_tables.py.")
    print(" *")
    print(
        " * Each is rounded from a value of 400 bits. Every high part is the nearest double, every low part the nearest"
    )
    print(" * double of what is left, unless its comment says otherwise. Change the script, not this file.")
    print(" */")
    print("/* clang-format off */")
    print('#include "base/fixed_math.h"')
    print()
    print("\n".join(OUT).rstrip())


main()
