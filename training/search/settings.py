"""The settings of a search as compiled searches read them: a record, which C and a page can write.

`SearchSettings` defines the settings; the record has a field of the same name for each.
"""

from __future__ import annotations

import numpy as np

from ludarium.configs.schema import SearchSettings, search_options
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import record_dtype

OPTIONS = search_options()
DEFAULTS = SearchSettings()
NEVER = 2**31 - 1  # a ply number that no game reaches
#: Numbers of the algorithms in a record.
GUMBEL, PUCT = range(len(OPTIONS[0].choices))

#: `SearchSettings`; ``max_score`` is the game's, at least 1, by which final scores are divided.
SETTINGS = record_dtype(
    *((each.name, np.float64 if each.value_type is float else np.int32) for each in OPTIONS),
    ("max_score", np.int32),
)


def settings_record(settings: SearchSettings, game: Game) -> np.ndarray:
    """Settings of searches in a game, structured [1] of `SETTINGS`."""
    record = np.zeros(1, SETTINGS)
    for option in OPTIONS:
        value = getattr(settings, option.name)
        if option.choices:
            value = option.choices.index(value)
        record[option.name] = NEVER if value is None else value
    record["max_score"] = max(1, game.max_score)
    return record
