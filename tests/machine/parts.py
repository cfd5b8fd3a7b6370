"""A part that kernels of another module call."""

from ludarium.machine.marks import part


@part
def wide(number):
    return number << 40
