"""The value of a root: what a search reports of a position, and what the network learns.

The mean of the values that were backed up, AlphaZero's, is that of the actions as they were
simulated. Sequential halving simulates many actions only to reject them, and root noise and
exploration do the same in PUCT, so the mean is too low for the mover. Inside the tree it stays,
as in mctx: no action is rejected there, visits follow the improved policy.

The mixed value (equation 33 of Danihelka et al., "Policy improvement by planning with Gumbel", ICLR
2022) weights Q-values by the prior. It estimates what the network's own policy is worth, to stand
for Q-values that are missing; what the search has found to be better is not in it.

The value here is that of the improved policy (section 4 there): the completed Q-values weighted by
softmax(logits + sigma(completed Q)). It depends on no noise and on no order of visits, so it is the
same for both algorithms. Its sigma does not rescale Q-values to [0, 1], as that of the policy
target does. Rescaled, the small differences of actions that are equally good are stretched until
the best of them, most often by an error of the network's, has nearly all weight, and the value is
too high. docs/results/solved.md compares them with exact values.
"""

import numpy as np

from ludarium.envs.engine.mathematics import exp
from ludarium.envs.engine.rule import compiled

from .gumbel import complete_values, list_visited, sigma_scale
from .tree import NO_EDGE, within_bounds


@compiled
def root_value(root, nodes, edges, settings):
    """Value of an evaluated root in the mover's view, in [-1, 1]: see above.

    A proven root has its exact value; with a share of the score, one within its bounds. Actions
    that are proven to be worse do not count. ``root.visited`` and ``root.values`` are overwritten.
    """
    node = nodes[0]
    visited = list_visited(root, nodes, edges, node, False)
    mixed, _, best, max_visits = complete_values(root, nodes, edges, settings, 0, visited)
    scale = sigma_scale(settings, max_visits)
    total = np.float32(0)
    weighted = np.float32(0)
    if root.best_unvisited != NO_EDGE:
        best = max(best, mixed)
        total = root.unvisited_prior * np.float32(exp(scale * (mixed - best)))
        weighted = total * mixed
    for index in range(visited):
        value = root.values[index]
        weight = edges[root.visited[index]].prior * np.float32(exp(scale * (value - best)))
        total += weight
        weighted += weight * value
    value = weighted / total if total > 0 else best
    return node.sign * within_bounds(node, node.sign * value, settings)
