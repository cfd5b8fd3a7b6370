"""Exponential and logarithm with the same bits on every machine.

The system libraries' functions differ in the last bit from one library to another. These use only
operations whose results IEEE 754 fixes, in a fixed order, in float64. Reductions and
coefficients are those of fdlibm (Sun Microsystems, 1993: ``e_exp.c`` and ``e_log.c``); errors are
below one unit in the last place.
"""

import numpy as np

from .rule import compiled

_LN2_HIGH = 6.93147180369123816490e-01  # ends in 21 zero bits: exact times an exponent
_LN2_LOW = 1.90821492927058770002e-10
_INVERSE_LN2 = 1.44269504088896338700
_LARGEST = 709.782712893383973096
_SMALLEST = -745.133219101941108420

_P1 = 1.66666666666666019037e-01
_P2 = -2.77777777770155933842e-03
_P3 = 6.61375632143793436117e-05
_P4 = -1.65339022054652515390e-06
_P5 = 4.13813679705723846039e-08

_L1 = 6.666666666666735130e-01
_L2 = 3.999999999940941908e-01
_L3 = 2.857142874366239149e-01
_L4 = 2.222219843214978396e-01
_L5 = 1.818357216161805012e-01
_L6 = 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01

_FRACTION = (1 << 52) - 1  # the bits of a float64 behind its exponent
_BIAS = 1023
_ROOT_HALF = 0x3FE6A09E << 32  # bits of about sqrt(1/2)
_TO_ONE = (_BIAS << 52) - _ROOT_HALF
_LEAST_NORMAL = 2.0**-1022
_SHIFT = 54


@compiled
def power_of_two(exponent):
    """2 to a whole number from -1022 to 1023."""
    return np.int64((exponent + _BIAS) << 52).view(np.float64)


@compiled
def exp(x):
    """e to the power x, as float64."""
    x = np.float64(x)
    if not x <= _LARGEST:
        return x * np.inf  # NaN stays NaN
    if x < _SMALLEST:
        return 0.0
    exponent = int(x * _INVERSE_LN2 + (0.5 if x >= 0 else -0.5))
    high, low = x - exponent * _LN2_HIGH, exponent * _LN2_LOW
    rest = high - low  # its absolute value is at most ln(2) / 2
    t = rest * rest
    c = rest - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    result = 1.0 - ((low - (rest * c) / (2.0 - c)) - high)
    half = exponent >> 1  # two steps, so that the smallest and largest results fit
    return result * power_of_two(half) * power_of_two(exponent - half)


@compiled
def log(x):
    """The natural logarithm, as float64; NaN for a negative number."""
    given = np.float64(x)
    if not given > 0.0:
        return -np.inf if given == 0.0 else np.nan
    if given == np.inf:
        return given
    is_small = given < _LEAST_NORMAL
    number = given * (2.0**_SHIFT if is_small else 1.0)
    bits = int(np.float64(number).view(np.int64)) + _TO_ONE
    exponent = (bits >> 52) - _BIAS - (_SHIFT if is_small else 0)
    # The number is 2**exponent * (1 + f), where 1 + f is from sqrt(1/2) to sqrt(2).
    f = np.int64((bits & _FRACTION) + _ROOT_HALF).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_L2 + w * (_L4 + w * _L6))
    odd = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
    half = 0.5 * f * f
    return s * (half + (even + odd)) + exponent * _LN2_LOW - half + f + exponent * _LN2_HIGH
