"""Several sets of a game's options that one network learns together.

For the actors each set is a separate game: with its own compiled rules, trees, inference engine and
size of observations. Their samples share one replay buffer, whose records are wide enough for
the largest of them. So a batch has positions of each game in the proportions in which they were
played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludarium.envs.engine.game import Game

from .samples import Batch, BatchMaker, sample_dtype


class VariantPacker:
    """Packs samples of several games into records of one kind; samples of a single game stay as is.

    Args:
        games: the games; a game's place here is its number.
        solved: see `sample_dtype`.
        keep_trivial: see `BatchMaker`.

    Attributes:
        dtypes: dtype of each game's samples.
        dtype: dtype of the records. With one game they are its samples, else they have the fields
            ``game``, the game's number, and ``sample``, the bytes of the sample.
    """

    def __init__(
        self,
        games: Sequence[Game],
        solved: bool = False,
        keep_trivial: float = 1.0,
    ) -> None:
        self.dtypes = [sample_dtype(game, solved) for game in games]
        self._makers = [BatchMaker(game, keep_trivial) for game in games]
        if len(games) == 1:
            (self.dtype,) = self.dtypes
        else:
            largest = max(dtype.itemsize for dtype in self.dtypes)
            self.dtype = np.dtype([("game", np.uint16), ("sample", np.uint8, (largest,))])

    def pack(self, number: int, samples: np.ndarray) -> np.ndarray:
        """Records [N] of the samples [N] of a game."""
        if len(self.dtypes) == 1:
            return samples
        records = np.zeros(len(samples), self.dtype)
        size = samples.dtype.itemsize
        plain = np.zeros(len(samples), samples.dtype)  # with zeros as padding between the fields
        plain[...] = samples
        fields: Any = records  # structured arrays have no static types
        fields["game"] = number
        fields["sample"][:, :size] = plain.view(np.uint8).reshape(len(samples), size)
        return records

    def unpack(self, records: np.ndarray) -> list[np.ndarray]:
        """The samples of each game among records [N], in their order.

        Raises:
            ValueError: a record belongs to none of the games.
        """
        if len(self.dtypes) == 1:
            return [records]
        if len(records) and records["game"].max() >= len(self.dtypes):
            raise ValueError(f"the replay has positions of game {records['game'].max()}")
        found = []
        for number, dtype in enumerate(self.dtypes):
            rows = records["sample"][records["game"] == number, : dtype.itemsize]
            found.append(np.ascontiguousarray(rows).view(dtype).reshape(len(rows)))
        return found

    def batches(self, records: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """The batch of each game among records [N]."""
        return [
            make(samples, rng)
            for make, samples in zip(self._makers, self.unpack(records), strict=True)
        ]
