"""Games worth replaying: shortest decided, most lead changes, best comeback, most events."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludarium.training.evaluation.statistics import rounded
from ludarium.training.table import percent

from .drama import Trajectories
from .study import Study

_OF_MATCHES = ("players", "opening_plies", "seconds")  # keys that matches add to a record


def replays(study: Study, trajectories: dict[str, Trajectories]) -> list[dict[str, Any]]:
    """A few games of the strongest players, each with its record and the reasons to look at it."""
    games = trajectories[study.strongest.players[0]]
    sample, plies = games.sample, games.plies
    decided = sample.rewards(0)[: len(plies)] != 0
    kind, counted = ("decided ", decided) if decided.any() else ("", ~decided)
    row = int(np.where(counted, plies, plies.max() + 1).argmin())
    chosen = [(f"the shortest {kind}game", row)]
    changes = games.lead_changes()
    if changes.max() > 0:
        times = "once" if changes.max() == 1 else f"{changes.max()} times"
        chosen.append((f"the lead changes {times}", int(changes.argmax())))
    decided_rows, chances = games.winners_chances()
    if len(decided_rows):
        lowest = np.nanmin(chances[:, 1:], axis=1)
        title = f"won from a chance of {percent(lowest.min())}"
        chosen.append((title, int(decided_rows[lowest.argmin()])))
    events = sample.events[: len(plies)]
    if events.shape[1] and events[:, 0].max() > 0:
        most = int(events[:, 0].argmax())
        name = study.game.event_names[0]
        chosen.append((f'most of "{name}": {events[most, 0]}', most))
    found: dict[int, dict[str, Any]] = {}
    for title, row in chosen:
        if row in found:
            found[row]["why"].append(title)
        else:
            found[row] = {"why": [title]} | _game_of(games, row)
    return list(found.values())


def _game_of(games: Trajectories, number: int) -> dict[str, Any]:
    sample, chances = games.sample, games.chances[number]
    record = sample.record(number)
    return {
        "players": sample.players[0],
        "record": {key: value for key, value in record.items() if key not in _OF_MATCHES},
        "actions": sample.moves(number),
        "player_0_chances": [rounded(chance) for chance in chances[~np.isnan(chances)]],
    }
