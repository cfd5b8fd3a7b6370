"""How a level of strength errs: noise on its search, and a random choice of the move.

Template functions (see ``ludarium.envs.engine.compile``), which are the same in Python, WebAssembly
and the C library. They compute in float64, and form sums in the order of the actions, so the same
seed and search give the same move on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.mathematics import exp, log
from ludarium.envs.engine.rule import random_bits, record_dtype
from ludarium.machine.marks import kernel, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

NEEDS_CODE = True  # see `specialise`
rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "levels"


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    params, rngs = np.zeros(1, LEVEL_PARAMS), np.zeros((1, 2), np.int64)
    noise = np.zeros((1, game.num_actions), np.float32)
    yield "draw_searches", (params, rngs, np.zeros(1, np.bool_), noise)
    yield "draw_actions", (params, rngs, np.zeros(1, np.int64), noise, noise)


#: Parameters of a strength level: the fields of ``LevelParams`` in ``ludarium.arena.level_params``.
LEVEL_PARAMS = record_dtype(
    ("simulations", np.float64),
    ("temperature", np.float64),
    ("max_value_loss", np.float64),
    ("logit_noise", np.float64),
    ("win_detection_prob", np.float64),
)

#: The settings of a level's search, except ``simulations``, one of the parameters, and ``solver``,
#: which `draw_search` draws.
SETTINGS = SearchSettings(temperature_plies=0)

# How much value a factor of e in the search's policy is worth. Where all moves have equal value, as
# in a won position, preferring the search's favourites keeps a level from playing aimlessly.
_PREFERENCE = 0.02
_LEAST_POLICY = 1e-6


@part
def uniform(rng):
    """A random number strictly between 0 and 1."""
    return (random_bits(rng) + 0.5) / 4294967296.0


@part
def draw_search(params, rng, noise):
    """Draw the random part of a level's search: whether it sees immediate wins, and ``noise``.

    Args:
        params: a record of `LEVEL_PARAMS`.
        rng: int64 [2].
        noise: float32 [A], receives the noise on the root's logits.

    Returns:
        Whether the search sees immediate wins: its setting ``solver``.
    """
    sees_wins = uniform(rng) < params.win_detection_prob
    for action in range(len(noise)):
        noise[action] = -params.logit_noise * log(-log(uniform(rng)))  # Gumbel noise
    return sees_wins


@part
def weight_of(params, best, policy, action_values, most, action):
    """The weight of an action: exp(-loss / temperature), 1 for ``best``, the search's choice.

    The loss is what the action is worth less than ``best``, and 0 where it is worth more; to it is
    added `_PREFERENCE` log(most / policy), where ``most`` is the largest number in the policy. The
    weight is 0 if the loss before this addition is above ``max_value_loss``, and for an action that
    the search did not try, whose value is NaN.
    """
    if action == best:
        return 1.0
    loss = np.float64(action_values[best]) - np.float64(action_values[action])
    if not max(loss, 0.0) <= params.max_value_loss:
        return 0.0
    favour = log(max(np.float64(policy[action]), _LEAST_POLICY))
    loss = max(loss, 0.0) + _PREFERENCE * (log(max(most, _LEAST_POLICY)) - favour)
    return exp(-loss / params.temperature)


@part
def draw_action(params, rng, best, policy, action_values):
    """Draw the action that a level plays, after its search.

    Args:
        params: a record of `LEVEL_PARAMS`.
        rng: int64 [2], as `draw_search` left it.
        best: the action that the search would play.
        policy: float32 [A], the search's policy.
        action_values: float32 [A], in the mover's view; NaN for actions that it did not try.
    """
    if params.temperature == 0:
        return best
    # Inverse transform sampling: the first action at which the running sum of the weights passes a
    # uniform share of their total.
    most = 0.0
    for action in range(len(policy)):
        most = max(most, np.float64(policy[action]))
    total = 0.0
    for action in range(len(policy)):
        total += weight_of(params, best, policy, action_values, most, action)
    mark = uniform(rng) * total
    reached = 0.0
    for action in range(len(policy)):
        reached += weight_of(params, best, policy, action_values, most, action)
        if reached > mark:
            return action
    return best


@kernel
def draw_searches(params, rngs, sees_wins, noise):
    """`draw_search` for B positions, each with a generator of its own.

    Args:
        params: structured [1] of `LEVEL_PARAMS`.
        rngs: int64 [B, 2].
        sees_wins: bool [B], receives the results of `draw_search`.
        noise: float32 [B, A].
    """
    for b in range(len(rngs)):
        sees_wins[b] = draw_search(params[0], rngs[b], noise[b])


@kernel
def draw_actions(params, rngs, actions, policies, action_values):
    """`draw_action` for B positions; it replaces the best ``actions``, int64 [B], by those drawn.

    Args:
        params: structured [1] of `LEVEL_PARAMS`.
        rngs: int64 [B, 2], as `draw_searches` left them.
        actions: the actions that the searches would play; -1 for a finished game, which stays.
        policies, action_values: float32 [B, A], results of the searches.
    """
    for b in range(len(rngs)):
        if actions[b] >= 0:
            actions[b] = draw_action(params[0], rngs[b], actions[b], policies[b], action_values[b])
