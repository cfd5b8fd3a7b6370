"""Kernels that need no game."""

import math

from ludarium.machine.marks import kernel

from .parts import wide


@kernel
def added(one, other):
    return one + other


@kernel
def shifted(narrow, wider):
    return wide(narrow[0] + 1) + wide(wider[0] + 1) + wide(1)


@kernel
def tangent(number):
    return math.tan(number)


@kernel
def makes_a_list(number):
    return len([number, number])
