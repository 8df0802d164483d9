#!/usr/bin/env python3
"""Writes tests/base/fixed_math_reference.inc: hard arguments of the fixed math words and the right results.

Takes mpmath's arbitrary precision functions, independent of the words; gives the table on standard output, the same
bytes each time: for each word the borders of its domain, and of some thousand random arguments those whose result lies
nearest to the middle of two doubles; for the angles also those nearest to multiples of pi/2.
A row: argument, second argument or 0, the result as double, and what that lacks to the exact one in its ulps.
Run: python3 scripts/math_reference.py > tests/base/fixed_math_reference.inc
"""

import math
import random
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

mp.prec = 1300  # the largest angle has 1,024 bits before its point
ROWS = 58
MAX = float.fromhex("0x1.fffffffffffffp+1023")
TINY = 2.0**-1074


def near(*values):
    """Each value, the finite doubles beside it, and all of them negated."""
    out = []
    for v in values:
        out += [v, math.nextafter(v, math.inf), math.nextafter(v, -math.inf)]
    out = [v for v in out if math.isfinite(v)]
    return out + [-v for v in out]


def uniform(low, high):
    return lambda r: r.uniform(low, high)


def magnitudes(low, high):
    """Either sign, exponents evenly from [low, high)."""
    return lambda r: r.choice((-1, 1)) * math.ldexp(r.uniform(1, 2), r.randrange(low, high))


def from_one(low):
    return lambda r: 1 + r.choice((-1, 1)) * math.ldexp(r.uniform(1, 2), r.randrange(low, -1))


def angles():
    """The 16 doubles M * 2^e that leave the least of a multiple of pi/2, from the convergents of 2^e * 2/pi."""
    found = []
    for e in range(-50, 971):
        t = mpf(2) ** e * 2 / mp.pi
        p0, q0, p1, q1 = 0, 1, 1, 0
        rest = t
        while q1 < 2**53:
            a = int(mpmath.floor(rest))
            p0, q0, p1, q1 = p1, q1, a * p1 + p0, a * q1 + q0
            if 2**52 <= q1 < 2**53 and p1 > 0:
                found.append((abs(q1 * t - p1), math.ldexp(q1, e)))
            if rest == a:
                break
            rest = 1 / (rest - a)
    return [x for _, x in sorted(found)[:16]]


ANGLES = near(math.pi / 4, math.pi / 2, math.pi, 1e22, MAX)[:10] + angles() + [2.0**-27, 2.0**-26, -0.75, 2.0**1000]
ANGLE_DRAWS = [uniform(-0.785, 0.785), uniform(-10, 10), magnitudes(-26, 60), magnitudes(60, 1024)]
UNIT_DRAWS = [
    uniform(-1, 1),
    magnitudes(-26, 0),
    lambda r: r.choice((-1, 1)) * (1 - math.ldexp(r.uniform(0.5, 1), r.randrange(-52, -1))),
]
# name: (function, border arguments, generators of arguments)
UNARY = {
    "exp": (
        mp.exp,
        near(0.0, 1.0, 709.782712893384, -745.1332191019411, -708.3964185322641),
        [uniform(-708, 709.7), uniform(-1, 1), magnitudes(-54, 0), uniform(-745, -708)],
    ),
    "exp2": (
        lambda x: mpf(2) ** x,
        near(0.0, 0.5, 1023.0, -1022.0) + [-1074.0, -1073.5],
        [uniform(-1022, 1024), uniform(-1, 1), magnitudes(-54, 0), uniform(-1074, -1022)],
    ),
    "expm1": (
        mp.expm1,
        near(0.36, 40.0, 709.782712893384, 2.0**-54, 0.6931471805599453),
        [uniform(-0.4, 0.4), uniform(-37, 50), magnitudes(-54, 0), uniform(50, 709)],
    ),
    "log": (
        mp.log,
        [abs(v) for v in near(1.0, TINY, MAX, math.sqrt(0.5), 2.0**-1022) if v] + [2.0, 10.0],
        [lambda r: abs(magnitudes(-1074, 1024)(r)), from_one(-52), uniform(0.5, 2)],
    ),
    "log1p": (
        mp.log1p,
        [v for v in near(1.0, 2.0**-27, 2.0**-54, TINY) if v > -1] + [MAX],
        [uniform(-0.999, 2), magnitudes(-53, -1), lambda r: abs(magnitudes(0, 1024)(r))],
    ),
    "sin": (mp.sin, ANGLES, ANGLE_DRAWS),
    "cos": (mp.cos, ANGLES, ANGLE_DRAWS),
    "tan": (mp.tan, ANGLES, ANGLE_DRAWS),
    "asin": (mp.asin, [v for v in near(1.0, 0.5, 2.0**-27, 2.0**-26) if abs(v) <= 1], UNIT_DRAWS),
    "acos": (mp.acos, [v for v in near(1.0, 0.5, 0.0, 2.0**-60) if abs(v) <= 1], UNIT_DRAWS),
    "atan": (
        mp.atan,
        near(1.0, 2.0**-27, 2.0**60, 1 / 32, MAX),
        [uniform(-1, 1), magnitudes(-26, 0), magnitudes(0, 60)],
    ),
    "sinh": (
        mp.sinh,
        near(0.36, 40.0, 710.4758600739439, 2.0**-27),
        [uniform(-0.36, 0.36), uniform(-40, 40), uniform(-710, 710)],
    ),
    "cosh": (
        mp.cosh,
        near(0.36, 40.0, 710.4758600739439, 2.0**-27),
        [uniform(-1, 1), uniform(-40, 40), uniform(-710, 710)],
    ),
    "tanh": (mp.tanh, near(0.36, 22.0, 2.0**-27, 1.0), [uniform(-0.36, 0.36), uniform(-5, 5), uniform(-22, 22)]),
    "asinh": (
        mp.asinh,
        near(2.0**-27, 2.0**30, 1.0) + [MAX],
        [uniform(-2, 2), magnitudes(-26, 0), magnitudes(0, 1024)],
    ),
    "acosh": (
        mp.acosh,
        [v for v in near(1.0, 2.0, 2.0**30) if v >= 1] + [MAX],
        [
            uniform(1, 2),
            lambda r: 1 + math.ldexp(r.uniform(0.5, 1), r.randrange(-51, 1)),
            lambda r: abs(magnitudes(1, 1024)(r)),
        ],
    ),
    "atanh": (mp.atanh, [v for v in near(1.0, 0.5, 2.0**-27) if abs(v) < 1], UNIT_DRAWS),
    "erf": (
        mp.erf,
        near(0.5, 0.75, 5.75, 5.9, 2.0**-60) + [TINY, 2.0**-1022, 2.0**-500],
        [uniform(-0.5, 0.5), uniform(0.5, 2), uniform(2, 5.9), magnitudes(-1070, -1)],
    ),
    "sqrt": (mp.sqrt, [abs(v) for v in near(1.0, 2.0, TINY) if v] + [MAX], [lambda r: abs(magnitudes(-1074, 1024)(r))]),
    "rsqrt": (
        lambda x: 1 / mp.sqrt(x),
        [abs(v) for v in near(1.0, 2.0, TINY) if v] + [MAX],
        [lambda r: abs(magnitudes(-1074, 1024)(r))],
    ),
}


def power(r):
    x = abs(r.choice((from_one(-52), magnitudes(-1074, 1024), uniform(0.1, 10)))(r))
    bound = 745 / max(abs(math.log(x)), 1e-300)
    return x, max(-MAX, min(MAX, r.uniform(-1, 0.95) * bound))


def point(r):
    y, x = (magnitudes(-8, 8)(r) for _ in range(2))
    scale = math.ldexp(1.0, r.randrange(-1000, 1000))
    return y * scale, x * scale


def remainder(x, y):
    q = abs(Fraction(x)) % abs(Fraction(y))
    return mpf(q.numerator) / q.denominator * (-1 if x < 0 else 1)


ONE_UP = math.nextafter(1.0, 2.0)
BINARY = {
    "pow": (
        lambda x, y: mpf(x) ** mpf(y),
        [
            (2.0, 0.5),
            (2.0, -1074.0),
            (2.0, 1023.0),
            (-2.0, 3.0),
            (-3.0, 4.0),
            (10.0, 22.0),
            (10.0, 308.0),
            (0.1, 300.0),
            (ONE_UP, 2.0**52),
            (ONE_UP, 2.0**58),
            (ONE_UP, -(2.0**61)),
            (1 - 2.0**-53, 2.0**60),
            (1 - 2.0**-53, -(2.0**62)),
            (MAX, 0.999),
            (TINY, 0.5),
            (TINY, 0.999),
            (TINY, -0.95),
            (-1.5, 1001.0),
            (MAX, -1.0),
            (1.5, 2.0**-70),
        ],
        power,
    ),
    "atan2": (
        lambda y, x: mp.atan2(mpf(y), mpf(x)),
        [
            (1.0, 1.0),
            (-1.0, -1.0),
            (1.0, -1.0),
            (TINY, TINY),
            (TINY, -MAX),
            (MAX, TINY),
            (TINY, 1.0),
            (MAX, MAX),
            (1.0, 2.0**61),
            (2.0**61, 1.0),
            (1.0, -(2.0**61)),
            (1.0, 2.0**60),
            (2.0**-1022, 3.0),
            (TINY, 2.0**-1022),
            (3.0, TINY),
            (-3.0, 2.0**59),
        ],
        point,
    ),
    "fmod": (
        remainder,
        [
            (MAX, 3.0),
            (MAX, TINY),
            (MAX, 3 * TINY),
            (2.0**1023, 7.0),
            (-5.5, 2.0),
            (5.5, -2.0),
            (2.0**-1022, 3 * TINY),
            (1.0, 0.1),
            (1e22, math.pi),
            (TINY, 1.0),
            (3 * TINY, 2 * TINY),
            (MAX, 2.0**-1022 + TINY),
        ],
        lambda r: (magnitudes(-1074, 1024)(r), magnitudes(-1074, 1024)(r)),
    ),
}


def double(v):
    try:
        return float(v)
    except OverflowError:
        return math.inf if v > 0 else -math.inf


def row(arguments, exact):
    """The text of a row, and how far its result is from the middle of two doubles; None: not to be represented."""
    hi = double(exact)
    if math.isinf(hi):
        lack = mpf(0)
    else:
        lack = (exact - mpf(hi)) / mpf(math.ulp(hi))
    pair = [a.hex() for a in arguments] + ["0"] * (2 - len(arguments))
    text = "INFINITY" if hi == math.inf else "-INFINITY" if hi == -math.inf else hi.hex()
    return "    {%s, %s, %s, %s}," % (pair[0], pair[1], text, mp.nstr(lack, 6)), abs(abs(lack) - mpf(1) / 2)


def table(name, function, borders, draws):
    r = random.Random(name)
    seen = {b: None for b in borders}
    rows = [row(b, function(*b))[0] for b in seen]
    mp.prec = 1300 if name in ("sin", "cos", "tan", "fmod") else 300
    drawn = []
    for i in range(3000):
        arguments = draws[i % len(draws)](r)
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        result = function(*arguments)
        if result == 0 or not mp.isfinite(result):
            continue
        text, distance = row(arguments, result)
        drawn.append((distance, text))
    drawn.sort()
    mp.prec = 1300
    rows += [text for _, text in drawn[: max(ROWS - len(rows), 0)]]
    print("static const reference_row reference_%s[] = {" % name)
    print("\n".join(rows))
    print("};")


def main():
    print("/* Written by scripts/math_reference.py with mpmath: two arguments, result, exact - result in ulps. */")
    print("/* clang-format off */")
    for name, (function, borders, draws) in UNARY.items():
        table(name, lambda x, f=function: f(mpf(x)), [(b,) for b in borders], draws)
    for name, (function, borders, draw) in BINARY.items():
        table(name, function, borders, [draw])


main()
