"""Random numbers that are functions: `uniform` and `normal` of (key, run, frame, channel).

Nothing is drawn from a generator that has a state.  The same four whole numbers give the same random number, whether
it is asked for alone, in a lane of a batch, on a card or in NumPy (philox.py).  A key is a seed; the rest counts runs,
frames in a run and channels in a frame.
"""

from __future__ import annotations

from typing import Any, overload

from .expr import Array, Scalar, random_node
from .functions import T, _elementwise, absolute, log, minimum, sqrt, where
from .philox import checked

NEAR = 0.4  # |u - 1/2| up to which the quantile is a fraction of u itself
# q / (u - 1/2) in z = 0.16 - (u - 1/2)^2; relative error of the fraction 9.4e-17
NEAR_ABOVE = (
    3.2038789138615007,
    99.0445264982239,
    1159.12962836921,
    6421.62441313832,
    17228.056542686292,
    20467.760150105543,
    8364.210284087769,
    524.4872343859037,
)
NEAR_BELOW = (
    1.0,
    33.34671653180647,
    428.9526042072976,
    2684.4975414995392,
    8488.905608939143,
    12786.447673037637,
    7701.169603825866,
    1173.805714683595,
)
# |q| in r = sqrt(-log(min(u, 1 - u))) - 1.5, to 8.22; relative error of the fraction 1.9e-16
FAR = 1.5
FAR_ABOVE = (
    1.2513729290570335,
    4.5665236187938305,
    6.416479727248777,
    4.708725285725859,
    2.0230857590281577,
    0.5310361020369165,
    0.08425143430197417,
    0.007513145857405725,
    0.00032019828863322696,
    4.520226859450459e-06,
)
FAR_BELOW = (
    1.0,
    2.2634121343311215,
    2.1040438014121112,
    1.0487930821185834,
    0.30585433179141586,
    0.052614138377976516,
    0.004990248237850579,
    0.00022163326562356231,
    3.1962367268964108e-06,
)


@overload
def uniform(key: Scalar, run: Scalar, frame: Scalar, channel: Scalar) -> Scalar: ...
@overload
def uniform(
    key: Scalar | Array, run: Scalar | Array, frame: Scalar | Array, channel: Scalar | Array
) -> Scalar | Array: ...
def uniform(key: Scalar | Array, run: Scalar | Array, frame: Scalar | Array, channel: Scalar | Array) -> Scalar | Array:
    """A random number in (0, 1), never 0 or 1, with the same bits from every backend.

    All four are whole numbers: key and run below 2^52, frame and channel below 2^32.  What a program computes or reads
    in single precision must be below 2^23, so that it is held exactly; its constants need not.  A number beyond its
    range is refused; one that a program computes is not looked at, and gives some number in (0, 1).  Channels 2 k and
    2 k + 1 together cost as much as one of them, where they are constants.
    """
    return _elementwise(random_node, checked, key, run, frame, channel)


@overload
def normal(key: Scalar, run: Scalar, frame: Scalar, channel: Scalar) -> Scalar: ...
@overload
def normal(
    key: Scalar | Array, run: Scalar | Array, frame: Scalar | Array, channel: Scalar | Array
) -> Scalar | Array: ...
def normal(key: Scalar | Array, run: Scalar | Array, frame: Scalar | Array, channel: Scalar | Array) -> Scalar | Array:
    """A random number with the standard normal distribution: the quantile of `uniform` of the same four.

    Between -8.21 and 8.21 (5.3 in single precision: a uniform number has no more bits).
    """
    u: Any = uniform(key, run, frame, channel)
    return normal_quantile(u)


def normal_quantile(u: T) -> T:
    """The x below which a standard normal number lies with probability u, for u from 2^-53 to 1 - 2^-53.

    Within 8 ulp, in single precision too (there u is from 2^-24 to 1 - 2^-24).  Fractions as Wichura's (AS 241, 1988),
    but one for a whole tail, and fitted anew.
    """
    q = u - 0.5
    z = 0.16 - q * q
    r = sqrt(-log(minimum(u, 1.0 - u))) - FAR
    near = absolute(q) <= NEAR
    far = _polynomial(FAR_ABOVE, r)
    above = where(near, q * _polynomial(NEAR_ABOVE, z), where(q < 0, -far, far))
    return above / where(near, _polynomial(NEAR_BELOW, z), _polynomial(FAR_BELOW, r))


def _polynomial(coefficients: tuple[float, ...], x: T) -> T:
    value: T = x * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        value = value * x + c
    return value
