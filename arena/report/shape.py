"""The length of games, the number of choices, who wins, and which rules come into play."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludarium.envs.engine.rule import TRUNCATED
from ludarium.training.evaluation.games import Games
from ludarium.training.evaluation.statistics import MatchResult, mean, ratio, rounded, wilson

from .study import Study
from .value_sources import exact_values

_PERCENTILES = (5, 25, 50, 75, 95)
_STILL_ON = 0.1  # branching is shown up to the last ply that this share of the games reaches
_LEAST_GAMES = 5  # and that this many games reach, or all if there are fewer
_NAMED = 20  # most actions listed by name


def length(study: Study) -> list[dict[str, Any]]:
    """Length of games by strength of play."""
    return [_length_of(sample) for sample in study.samples.values()]


def _length_of(sample: Games) -> dict[str, Any]:
    plies, games = np.unique(sample.plies, return_counts=True)
    return {
        "players": sample.players[0],
        "plies": mean(sample.plies).to_dict(),
        "turns": mean(sample.turns).to_dict(),
        "standard_deviation": rounded(np.std(sample.plies)),
        "percentiles": {str(p): rounded(np.percentile(sample.plies, p)) for p in _PERCENTILES},
        "shortest": int(plies[0]),
        "longest": int(plies[-1]),
        "games_by_plies": dict(zip(map(str, plies.tolist()), games.tolist(), strict=True)),
    }


def branching(study: Study) -> list[dict[str, Any]]:
    """Number of legal actions by strength of play: on average, at most, and ply by ply."""
    return [_branching_of(sample) for sample in study.samples.values()]


def _branching_of(sample: Games) -> dict[str, Any]:
    choices = sample.choices.sum(axis=1)
    forced = ((sample.choices == 1).sum(axis=1)).astype(float)
    by_ply = []
    for ply in range(sample.choices.shape[1]):
        on = sample.plies > ply
        if on.sum() < min(len(sample), max(_LEAST_GAMES, _STILL_ON * len(sample))):
            break
        by_ply.append({"ply": ply + 1} | mean(sample.choices[on, ply]).to_dict())
    return {
        "players": sample.players[0],
        "mean": ratio(choices, sample.plies).to_dict(),
        "forced": ratio(forced, sample.plies).to_dict(),
        "largest": int(sample.choices.max(initial=0)),
        "by_ply": by_ply,
    }


def balance(study: Study) -> dict[str, Any]:
    """How often each side wins, by strength of play, and the result with perfect play, if known."""
    start = None
    if not study.game.random_start:
        start = exact_values(study.game, study.exact, study.game.start().states)
    return {
        "perfect": None if start is None else int(start[0]),
        "by_strength": [_balance_of(sample) for sample in study.samples.values()],
    }


def _balance_of(sample: Games) -> dict[str, Any]:
    result = MatchResult.of(sample.rewards(0))
    return {
        "players": sample.players[0],
        "player_0_wins": wilson(result.wins, result.games).to_dict(),
        "draws": wilson(result.draws, result.games).to_dict(),
        "player_1_wins": wilson(result.losses, result.games).to_dict(),
        "player_0_score": result.score.to_dict(),
        "ended_at_ply_cap": int((sample.outcomes == TRUNCATED).sum()),
        "distinct_games": sample.distinct,
    }


def rules_in_play(study: Study) -> dict[str, Any]:
    """How often each of the game's ``event_names`` occurs, which never do; actions never played."""
    names = list(study.game.event_names)
    by_rule = [
        {
            "rule": name,
            "by_strength": [
                {
                    "players": sample.players[0],
                    "per_game": mean(sample.events[:, number]).to_dict(),
                    "games_with": wilson(
                        int((sample.events[:, number] > 0).sum()), len(sample)
                    ).to_dict(),
                }
                for sample in study.samples.values()
            ],
        }
        for number, name in enumerate(names)
    ]
    samples = study.samples.values()
    totals = sum(sample.events.sum(axis=0) for sample in samples)
    played = np.unique(np.concatenate([sample.actions.ravel() for sample in samples]))
    unplayed = np.setdiff1d(np.arange(study.game.num_actions), played)
    return {
        "rules": by_rule,
        "never": [name for name, total in zip(names, np.ravel(totals), strict=True) if not total],
        "actions": study.game.num_actions,
        "actions_never_played": len(unplayed),
        "named": [study.game.action_names[action] for action in unplayed[:_NAMED]],
        "games": sum(map(len, samples)),
    }
