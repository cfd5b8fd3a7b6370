"""Opponents of a chosen strength: ``level:1`` (the weakest), ``level:hard``, ``level:auto``.

A game's shipped agent has a ladder of levels, see `ludarium.arena.ladder`. A ladder of another
agent or of other options is measured with ``ludarium levels GAME --measure`` and given as a file:
``level:3?ladder=FILE``, with ``&agent=CHECKPOINT`` for a checkpoint that does not ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.base.messages import did_you_mean, quoted
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import make_stored_game
from ludarium.training.agents import Agent, AgentSpec, Needs, Seed
from ludarium.training.agents.checkpoints import (
    CheckpointSpec,
    ShippedSpec,
    find_checkpoint,
    shipped_agents,
)
from ludarium.training.agents.settings import read_real, setting
from ludarium.training.networks import stored_network

from .adaptive import AdaptiveAgent
from .ladder import WORDS, find_ladder, load_ladder
from .level import LevelAgent

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class LevelSpec(AgentSpec):
    """The agent of a level.

    Attributes:
        level: a number from 1, one of `WORDS`, or `AUTO`. The other fields are the settings that a
            name can have.
    """

    usage = "level:LEVEL"
    help = (
        "an opponent of a chosen strength: a number from 1, the weakest (`ludarium levels GAME` "
        f"lists them), {', '.join(WORDS)}, or {AUTO}, which adapts to its opponent from game to "
        "game"
    )
    needs = Needs.NETWORK

    ladder: Path | None = setting(Path, "file that `ludarium levels GAME --measure` has written")
    agent: Path | None = setting(Path, "checkpoint or run with which that file was measured")
    elo: float | None = setting(
        read_real, f"Elo points, above random play, of the opponent whom {AUTO} expects at first"
    )
    level: str

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``LEVEL``; see `AgentSpec.read`."""
        level = argument or ""
        if level not in (*WORDS, AUTO) and not (level.isascii() and level.isdecimal()):
            raise ValueError(
                f"a level is a number from 1, {', '.join(WORDS)} or {AUTO}, not {quoted(level)}"
                f"{did_you_mean(level, (*WORDS, AUTO))}"
            )
        if "elo" in settings and level != AUTO:
            raise ValueError(f"elo is a setting of level:{AUTO} alone")
        return super().read(None, settings, level=level.lstrip("0") or level)

    @property
    def subject(self) -> str:
        """``level:`` and the level."""
        return f"level:{self.level}"

    @property
    def label(self) -> str:
        """The level alone: people meet one ladder at a time."""
        return self.subject

    def choose_game(self, options: dict[str, Any], name: str | None = None) -> Game | None:
        """A given ladder's or checkpoint's game, else the shipped agent's.

        See `AgentSpec.choose_game`.
        """
        if self.ladder is not None:
            ladder = load_ladder(self.ladder)
            return make_stored_game(ladder.game, ladder.options, **options)
        if self.agent is not None:
            return CheckpointSpec(path=self.agent).choose_game(options)
        if name is not None and shipped_agents(name):
            return ShippedSpec(game=name).choose_game(options)
        return super().choose_game(options, name)

    def network_file(self, game: Game) -> Path | None:
        """A given ladder's file, which tells its network's digest; see `AgentSpec.network_file`."""
        return self.ladder

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``, with the ladder given or shipped; see `AgentSpec.make`."""
        ladder = find_ladder(game) if self.ladder is None else load_ladder(self.ladder)
        number = None if self.level == AUTO else ladder.number(self.level)
        path = (
            ShippedSpec(game=game.name).checkpoint_path(game.options)
            if self.agent is None
            else find_checkpoint(self.agent)
        )
        ladder.check_fits(game, path)
        name = self.label
        network = stored_network(path, game, name)
        if number is None:
            return AdaptiveAgent(game, network, ladder, self.elo, name, seed)
        params = ladder.levels[number - 1].params
        return LevelAgent(game, network, params, name=name, seed=seed)
