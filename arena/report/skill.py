"""The depth of the game: Elo gained by each doubling of playouts, and by training.

There is a ladder of players, where each meets the next, and an agent's policy alone meets two, as
in the skill traces of S. Tavener's program Ai Ai; the span from random play to the strongest
player, in steps that people notice, is a measure of depth (F. Lantz and others, "Depth in Strategic
Games", 2017).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from ludarium.training.agents import AgentSpec
from ludarium.training.agents.uct import UCTSpec
from ludarium.training.agents.uniform import RandomSpec
from ludarium.training.evaluation import Games, fit_ratings
from ludarium.training.evaluation.statistics import rounded

from .study import Study

#: Elo points of one step of skill: the better player scores 64 %.
STEP = 100.0
#: The report's name for a trained agent that plays by its policy alone.
POLICY = "policy alone"


def skill(study: Study) -> dict[str, Any]:
    """The ladder with its ratings and matches, Elo per doubling of playouts, and Elo spans."""
    searches = [UCTSpec(playouts=playouts) for playouts in study.settings.rungs]
    specs: dict[str, AgentSpec] = {spec.label: spec for spec in (RandomSpec(), *searches)}
    weakest, *rungs = specs
    pairs = [*pairwise(specs)]
    top = study.strong_name
    if study.agent is not None and top not in specs:
        specs[top] = study.agent
        pairs.append((rungs[-1], top))
        if study.trained:
            specs[POLICY] = study.trained.searching(0)
            pairs += [(rungs[len(rungs) // 2], POLICY), (POLICY, top)]
    games = max(4, study.games // 4 * 2)
    matches = [
        study.match(
            f"{first} against {second}",
            specs[first].make(study.game, 1),
            specs[second].make(study.game, 2),
            games,
            study.seed(50, number),
            None,
        )
        for number, (first, second) in enumerate(pairs)
    ]
    results = [
        (first, second, match.result) for (first, second), match in zip(pairs, matches, strict=True)
    ]
    ratings = fit_ratings(results, {weakest: 0.0})
    by_rung = fit_ratings(results, {rungs[0]: 0.0})[rungs[-1]]
    doublings = math.log2(study.settings.rungs[-1] / study.settings.rungs[0])
    top = max(ratings, key=lambda name: ratings[name].value)
    return {
        "ladder": [
            {"player": name, "spec": str(specs[name]), "is_rung": name in (weakest, *rungs)}
            | rating.to_dict()
            for name, rating in sorted(ratings.items(), key=lambda item: item[1].value)
        ],
        "matches": [_match_of(pair, match) for pair, match in zip(pairs, matches, strict=True)],
        "elo_per_doubling": by_rung.map(lambda elo: elo / doublings).to_dict(),
        "strongest": top,
        "span": ratings[top].to_dict(),
        "span_of_search": ratings[rungs[-1]].to_dict(),
        "step": STEP,
        "steps": rounded(ratings[top].value / STEP),
    }


def _match_of(pair: tuple[str, str], match: Games) -> dict[str, Any]:
    """The second player's result against the first."""
    return {"player": pair[1], "against": pair[0], **match.result.reversed.to_dict()}
