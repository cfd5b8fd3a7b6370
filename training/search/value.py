"""The value of a root: what a search reports for a position.

AlphaZero's value is the mean of the values that were backed up, so every action counts as often as
it was simulated. Sequential halving simulates many actions only to reject them, and root noise and
exploration do the same in PUCT, so the mean is too low for the mover. Inside the tree the mean is
used, as in mctx: nothing is rejected there, and Gumbel's visits follow the improved policy.

The mixed value (equation 33 of Danihelka et al., "Policy improvement by planning with Gumbel", ICLR
2022) weights Q-values by the prior. It estimates the value of the network's own policy at the node,
to replace missing Q-values, not that of the better policy that the search has found there.

The value here is the improved policy's (section 4 there): the completed Q-values weighted by
softmax(logits + sigma(completed Q)). Neither noise nor the order of visits is in this formula, so
it serves both algorithms. Its sigma never rescales Q-values to [0, 1], as the policy target's does
by default. Rescaling stretches the small differences between equally good actions until the best
of them, most often by an error of the network, has nearly all weight, and the value is too high.
docs/results/solved.md compares the mean and this value with exact values.
"""

import numpy as np

from ludarium.envs.engine.mathematics import exp
from ludarium.envs.engine.rule import compiled

from .gumbel import complete_values, list_visited, sigma_scale
from .tree import NO_EDGE, within_bounds


@compiled
def root_value(root, nodes, edges, settings):
    """Value of an evaluated root in the mover's view, in [-1, 1]; the module explains it.

    A proven root has its exact value; with a share of the score, a value within its bounds. Actions
    that are proven to be worse do not count. The root's scratch space is overwritten.
    """
    # sum_a w(a) q(a) / sum_a w(a), with w(a) = p(a) exp(sigma(q(a)) - max sigma); actions without
    # visits have the mixed value, so they count as one with their priors' sum.
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
