"""The only part that is compiled for each kind of processor: the network's answer in a search.

A template (see ``ludarium.envs.engine.compile``): a compiled network takes the place of `ask`.
"""

from typing import Any

from ludarium.machine.marks import kernel, part

rules: Any = None  # one game's rule module, which a network does not need


@part
def ask(net, planes, evaluation, n):
    """Stands for a compiled network, see `ask` of ``play/wasm/kernels.py``."""
    return False


@kernel
def network_answer(search, network):
    """Answer the planes of the search; return 1, or 0 if a number of the answer is not finite."""
    return int(ask(network, search.planes, search.evaluation, 0))
