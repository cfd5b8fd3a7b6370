"""The one thing that is compiled for each kind of processor: the network's answer in a search.

A template (see ``ludarium.envs.engine.compile``): a compiled network takes the place of `ask`.
"""

from typing import Any

from ludarium.envs.engine.compile import kernel, part

rules: Any = None  # one game's rule module, which a network does without


@part
def ask(net, planes, evaluation, n):
    """See ``network`` of `ludarium.training.search.simulate`."""
    return False


@kernel
def network_answer(search, network):
    """Answer the planes of the search; return 1, or 0 if the answer has numbers not finite."""
    return int(ask(network, search.planes, search.evaluation, 0))
