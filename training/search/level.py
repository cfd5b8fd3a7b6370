"""How a level of strength errs: the noise on what its search looks at, and the move that it draws.

Template functions (see ``ludarium.envs.engine.compile``), which are the same in Python and in other
places that play levels. Numbers are float64, and what is added up is added in the order of the
actions, so that the same seed gives the same move on every machine.
"""

from typing import Any

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.mathematics import exp, log
from ludarium.envs.engine.rule import random_bits, record_dtype

from .settings import SearchSettings

rules: Any = None  # one game's rule module, filled in by `specialise`

#: How a network plays at one strength: the fields of ``ludarium.arena.knobs.Knobs``.
KNOBS = record_dtype(
    *((name, np.float64) for name in ("simulations", "temperature", "bound", "blur", "sees_wins"))
)

#: The settings of a level's search, but for ``simulations``, one of the knobs, and ``prove``, which
#: `draw_search` draws.
SETTINGS = SearchSettings(temperature_plies=0)

# What a factor of e in the search's policy is worth, in value. Among moves of equal value, such
# as those of a won position, the search's favourites keep a level from playing aimlessly.
_PREFERENCE = 0.02
_LEAST_POLICY = 1e-6


@part
def uniform(rng):
    """A random number between 0 and 1, neither of them."""
    return (random_bits(rng) + 0.5) / 4294967296.0


@part
def draw_search(knobs, rng, noise):
    """Draw what decides a level's search: whether it is sure to find wins at once, and ``noise``.

    Args:
        knobs: a record of `KNOBS`.
        rng: int64 [2].
        noise: float32 [A], receives the noise on the root's logits.

    Returns:
        Whether wins at once are found.
    """
    sees_wins = uniform(rng) < knobs.sees_wins
    for action in range(len(noise)):
        noise[action] = -knobs.blur * log(-log(uniform(rng)))
    return sees_wins


@part
def weight_of(knobs, best, policy, action_values, most, action):
    """How likely an action is, beside 1 for ``best``: exp(-loss / temperature) within the bound.

    The loss is against the action that the search would play. ``most`` is the largest number in
    the search's policy, which counts a little too. ``action_values`` are NaN where the search did
    not look.
    """
    if action == best:
        return 1.0
    loss = np.float64(action_values[best]) - np.float64(action_values[action])
    if not max(loss, 0.0) <= knobs.bound:
        return 0.0
    favour = log(max(np.float64(policy[action]), _LEAST_POLICY))
    loss = max(loss, 0.0) + _PREFERENCE * (log(max(most, _LEAST_POLICY)) - favour)
    return exp(-loss / knobs.temperature)


@part
def draw_action(knobs, rng, best, policy, action_values):
    """Draw the action that a level plays, after its search.

    Args:
        knobs: a record of `KNOBS`.
        rng: int64 [2], as `draw_search` left it.
        best: the action that the search would play.
        policy: float32 [A], the search's.
        action_values: float32 [A], in the mover's view; NaN where it did not look.
    """
    if knobs.temperature == 0:
        return best
    most = 0.0
    for action in range(len(policy)):
        most = max(most, np.float64(policy[action]))
    total = 0.0
    for action in range(len(policy)):
        total += weight_of(knobs, best, policy, action_values, most, action)
    mark = uniform(rng) * total
    reached = 0.0
    for action in range(len(policy)):
        reached += weight_of(knobs, best, policy, action_values, most, action)
        if reached > mark:
            return action
    return best


@kernel
def draw_searches(knobs, rngs, sees_wins, noise):
    """`draw_search` for B positions, each with a generator of its own.

    Args:
        knobs: structured [1] of `KNOBS`.
        rngs: int64 [B, 2].
        sees_wins: bool [B], receives what it returns.
        noise: float32 [B, A].
    """
    for b in range(len(rngs)):
        sees_wins[b] = draw_search(knobs[0], rngs[b], noise[b])


@kernel
def draw_actions(knobs, rngs, actions, policies, action_values):
    """`draw_action` for B positions; ``actions`` int64 [B] has the best ones, and receives those.

    Args:
        knobs: structured [1] of `KNOBS`.
        rngs: int64 [B, 2], as `draw_searches` left them.
        actions: of finished games -1, which stays.
        policies, action_values: float32 [B, A], of the searches.
    """
    for b in range(len(rngs)):
        if actions[b] >= 0:
            actions[b] = draw_action(knobs[0], rngs[b], actions[b], policies[b], action_values[b])
