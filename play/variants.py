"""The page's variants of each game: sets of options, each with its agent and levels."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ludarium.arena.ladder import ladder_beside, ladder_of
from ludarium.envs import GAMES, Game
from ludarium.envs.engine.draw.scene import Diagram
from ludarium.envs.registry import make_game, make_stored_game
from ludarium.models import load_header
from ludarium.training.agents.checkpoints import (
    CheckpointSpec,
    fitting_agent,
    shipped_agents,
)
from ludarium.training.networks import check_fits

from .wasm import module_name

_MOST_TEXT = 60  # characters of an option's value in a title


@dataclass(frozen=True)
class Variant:
    """A game with its options, and its agent.

    Attributes:
        game: the rules.
        agent: the checkpoint of the opponent; None if no network fits.
        label: name of an agent that does not ship; empty for a shipped one.
        is_own: whether people set up the start; the diagram of ``game`` is then an example, and the
            agent plays every diagram.
    """

    game: Game
    agent: Path | None
    label: str = ""
    is_own: bool = False

    @classmethod
    def of(cls, game: Game) -> Variant:
        """A game with the shipped agent that fits its options, if there is one."""
        return cls(game, fitting_agent(game))

    @classmethod
    def of_checkpoint(cls, agent: CheckpointSpec, game: Game) -> Variant:
        """A game with an agent that does not ship.

        Raises:
            ValueError, FileNotFoundError: there is no such checkpoint, or it does not fit the game.
        """
        path = agent.checkpoint_path(game.options)
        check_fits(load_header(path), game, agent.short)
        return cls(game, path, agent.short)

    @property
    def without_clock(self) -> Variant:
        """The same without a clock; this variant has the network and levels of that one."""
        clock = self.game.running_clock
        if clock is None:
            return self
        plain = make_stored_game(self.game.name, self.game.options, **{clock.option: False})
        return replace(self, game=plain)

    @property
    def id(self) -> str:
        """A name for files and addresses: the game, its options, and the label in plain letters."""
        word = re.sub(r"[^\w.-]", "_", self.label)[:_MOST_TEXT]
        own = "-own" if self.is_own else ""
        return module_name(self.game) + own + (f"@{word}" if word else "")

    @property
    def title(self) -> str:
        """Its name for people: its own start, the first and the changed options, clock, label."""
        first, *_ = self.game.option_list or (None,)
        clock = self.game.running_clock
        own = self.diagram.option if self.is_own and self.diagram else None
        words = [
            _in_words(option.name, value)
            for option in self.game.option_list
            if (value := self.game.options[option.name]) != option.default or option is first
            if (clock is None or option.name != clock.option) and option.name != own
        ]
        if own:
            words.insert(0, f"your own {own}")
        if clock is not None:
            words.append(clock.name)
        options = ", ".join(words) or "default"
        return f"{options} ({self.label})" if self.label else options

    @property
    def diagram(self) -> Diagram | None:
        """The diagram by which people set up a start, in games that have one."""
        return self.game.drawn_scene.diagram

    @property
    def ladder(self) -> Path | None:
        """The file of its agent's levels in this game without a clock, if they were measured."""
        if self.agent is None or self.label or self.is_own:
            return None
        found = ladder_of(self.agent, self.without_clock.game)
        return None if found is None else ladder_beside(self.agent)


def usual_variants(name: str) -> list[Variant]:
    """The page's variants of a game.

    These are the default options, the game's ``featured_options``, and the options of each shipped
    agent; all of them with the clock too, in a game that has one; then starts that people set up.
    """
    games = [
        make_game(name),
        *(make_game(name, **options) for options in GAMES[name].featured_options),
    ]
    trained = [load_header(path).options for path in shipped_agents(name)]
    games += [make_stored_game(name, options) for options in trained]
    clock = games[0].clock
    if clock is not None:
        clocked = {clock.option: True}
        games += [make_stored_game(name, game.options, **clocked) for game in games]
    variants = [Variant.of(game) for game in {module_name(game): game for game in games}.values()]
    return [*variants, *_own_starts(variants)]


def _own_starts(variants: Sequence[Variant]) -> list[Variant]:
    """A variant with a start that people set up, for each set of the other options."""
    own: dict[str, Variant] = {}
    for variant in variants:
        diagram, game = variant.diagram, variant.game
        if diagram is not None and diagram.start:
            others = {**game.options, diagram.option: None}
            any_start = make_stored_game(game.name, {**others, diagram.option: _mixed(diagram)})
            own.setdefault(str(others), Variant(game, fitting_agent(any_start), is_own=True))
    return list(own.values())


def _mixed(diagram: Diagram) -> str:
    """A diagram that is none of the named setups: ``ABBA``, then ``AB`` again and again."""
    half = len(diagram.spots) // 2
    first, second = list(diagram.letters)
    return first + second + second + first + (first + second) * (half - 2)


def _in_words(name: str, value: Any) -> str:
    """An option in words; one whose value is True is its name alone."""
    return name.replace("_", " ") if value is True else f"{name} {_as_text(value)}"


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
