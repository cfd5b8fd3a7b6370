"""What a run logs: every metric of ``metrics.jsonl`` and TensorBoard, with its meaning.

The runs of this package log only metrics that are listed here, which a test checks, and the
guide's page of metrics is made from this list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ludarium.training.evaluation import IntervalEstimate

#: Metrics of what self-play counts: the formula, and the meaning. A formula gets the counts by name
#: (`COUNTS` of self-play's kernels, and `SelfPlayResult`) and the seconds of play; where it divides
#: by 0 the metric is absent.
COUNTED: dict[str, tuple[Callable[[Counter[str], float], float], str]] = {
    "games_per_second": (lambda n, s: n["games"] / s, "games of self-play finished per second"),
    "positions_per_second": (lambda n, s: n["positions"] / s, "positions searched per second"),
    "simulations_per_second": (
        lambda n, s: n["simulations"] / s,
        "simulations per second of all searches together",
    ),
    "evaluations_per_second": (
        lambda n, s: n["evaluations"] / s,
        "positions per second that the network evaluated",
    ),
    "cache_hits": (
        lambda n, _: n["hits"] / (n["hits"] + n["evaluations"]),
        "fraction of the evaluations that came from the evaluation cache; absent if there are "
        "none, as in the bootstrap",
    ),
    "mean_plies": (
        lambda n, _: n["plies"] / n["games"],
        "mean length of the finished games; absent if there are none",
    ),
    "solved": (
        lambda n, _: n["solved"] / (n["solved"] + n["unsolved"]),
        "share of the positions of finished games that have exact targets (with "
        "`self_play.solve`); absent if none finished, as in the bootstrap",
    ),
}

#: Groups of metrics: heading, and for each metric of the group its meaning.
GROUPS: dict[str, dict[str, str]] = {
    "Every run": {
        "iteration": "number of the iteration, from 1",
        "progress": "progress of the run from 0 to 1, by iterations or by time, whichever is more",
        "seconds": "wall time of the run so far, over all its parts",
        "step": "gradient steps done (PPO: the learner's actions that it has learnt from)",
        "learning_rate": "learning rate at the end of the iteration",
        "play_seconds": "wall time of this iteration's games; on a cluster, the time between two "
        "deliveries to the learner",
        "learn_seconds": "wall time of this iteration's gradient steps",
        "policy_loss": "AlphaZero: cross-entropy of the policy less the entropy of its target, in "
        "nats, so that 0 is the best possible, absent without a gradient step; PPO: minus the "
        "clipped policy objective",
    },
    "Evaluation, in the iterations that have one": {
        "opponent": "the one opponent, if `evaluation.against` names one",
        "score": "points per game against it, from 0 to 1; a draw is half a point; with an "
        "interval (Wilson's)",
        "elo": "rating by several opponents, if `evaluation.against` is a list; with an interval "
        "(profile likelihood)",
        "anchors": "for each opponent that was met its rating (`elo`), and the agent's `wins`, "
        "`draws`, `losses` and `score`",
        "accuracy": "share of the moves that keep the exact value, in the test that "
        "`evaluation.exact_test` names; with an interval (Wilson's)",
    },
    "AlphaZero": {
        "simulations_per_move": "simulations of each search in self-play",
        "replay": "positions in the replay buffer",
        **{name: meaning for name, (_, meaning) in COUNTED.items()},
        "outcome_loss": "cross-entropy of win, draw and loss, in nats; absent without a gradient "
        "step",
        "score_loss": "mean squared error of the final score, as a share of the largest; absent "
        "without a gradient step, in games without points, and if the network gives no score",
        "backend": "what runs the network in self-play",
        "policy_deviation": "mean Kullback-Leibler divergence of the backend's policy from "
        "PyTorch's, in nats; of several games the largest",
        "value_deviation": "mean absolute difference of the backend's value from PyTorch's; of "
        "several games the largest",
    },
    "PPO": {
        "steps_per_second": "the learner's actions per second, playing and learning together",
        "games": "games finished in the iteration",
        "self_play_score": "score of the learner in the finished games, against itself and "
        "past selves, from 0 to 1; absent if there are none",
        "pool": "past selves in the pool",
        "pool_score": "mean of the expected scores against the past selves; 0.5 without any",
        "entropy": "mean entropy of the policy over the legal actions, in nats",
        "value_loss": "mean squared error of the value",
        "explained_variance": "share of the returns' variance that the value explains; absent if "
        "all returns are the same",
        "approx_kl": "Kullback-Leibler divergence of the new policy from that of the rollout",
        "clip_fraction": "share of the samples whose probability ratio was clipped",
    },
    "On a cluster": {
        "actors": "actors whose positions have come since the iteration before",
        "actors_lost": "actors that died since the iteration before",
        "staleness": "mean age, in versions, of the weights that played the learner's positions; "
        "absent if they are of the bootstrap, which needs none",
        "learner_waited": "seconds that the learner waited for positions",
    },
}

#: Metrics that are estimates: each has a ``value``, the ends ``low`` and ``high`` of its 95 %
#: interval, and the ``count`` of games or positions behind it. For each the title of an axis, and
#: the format of a number.
ESTIMATES = {"elo": ("Elo", ",.0f"), "score": ("score", ".0%"), "accuracy": ("value kept", ".0%")}

#: The meaning of every metric, by name.
METRICS: dict[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}


def estimates_of(metrics: Mapping[str, Any]) -> dict[str, IntervalEstimate]:
    """Those of `ESTIMATES` that an iteration has."""
    found = {name: metrics[name] for name in ESTIMATES if name in metrics}
    return {name: IntervalEstimate.from_dict(each) for name, each in found.items()}


def metrics_of(counts: Counter[str], seconds: float) -> dict[str, float]:
    """The metrics `COUNTED` of what self-play counted in so many seconds."""
    metrics = {}
    for name, (formula, _) in COUNTED.items():
        with suppress(ZeroDivisionError):
            metrics[name] = formula(counts, seconds)
    return metrics
