"""`AgentSpec`, the description of an agent, and `Agent`, which it makes for a game."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Flag, auto
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ludarium.base.messages import did_you_mean, escaped, quoted
from ludarium.base.numbers import require_seed
from ludarium.base.progress import SILENT, Progress
from ludarium.configs.schema import RENAMED
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay, games_from
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.registry import make_game
from ludarium.training.search.result import Budget, Search, SearchResult

from .settings import settings_of, settings_text, text_of

Seed = int | np.random.SeedSequence | None

#: What `Agent.play` returns in place of an action to resign a game of a match.
RESIGN = -2


class Agent:
    """Chooses actions in one game's positions.

    A subclass overrides one of these, the first that fits:

    - `search`: it searches positions within `budget`, and `select` picks from the result.
    - `actions`: it decides in another way. It remembers nothing between decisions but its random
      numbers: with the same seed, the same positions in the same order get the same actions,
      whether they come one by one or together.
    - `play`: it keeps something, such as a tree, and is given whole games by matches. It overrides
      `begin` and `finish` too if it needs them.

    Args:
        game: the rules.
        name: the name in tables, such as ``uct:1000``.
        seed: seed of its random numbers; ``None`` takes fresh ones from the system.
        budget: budget for each decision.
        temperature: 0 plays the best action that a search found. Above 0, the action is drawn from
            the search's policy to the power 1 / temperature.

    Attributes:
        game, name, budget, temperature: as given.
        thinker: `name`, without the budget and the settings of a search if it has such, for
            analyses, which have a budget of their own.
        rng: its random numbers.

    Raises:
        ValueError: ``seed`` is not a seed, or ``temperature`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        name: str,
        seed: Seed = None,
        budget: Budget | None = None,
        temperature: float = 0.0,
    ) -> None:
        self.game = game
        self.name = name
        self.thinker = name
        self.budget = budget or Budget()
        if not 0 <= temperature < np.inf:
            raise ValueError(f"temperature is a number from 0 on, not {quoted(temperature)}")
        self.temperature = temperature
        self.restart(seed)

    def restart(self, seed: Seed = None) -> None:
        """Reseed the random numbers; ``None`` takes a fresh seed from the system.

        Raises:
            ValueError: ``seed`` is not a seed.
        """
        self.rng = np.random.default_rng(require_seed(seed))

    @property
    def plays_for_score(self) -> bool:
        """Whether points count for its search, besides who wins."""
        return False

    @property
    def searches(self) -> bool:
        """Whether the agent has a `search`."""
        return type(self).search is not Agent.search

    def search(self, states: np.ndarray) -> SearchResult:
        """Search each position from scratch, within the budget.

        Args:
            states: structured array [N] of ``game.state_dtype``, of unfinished games; it is not
                changed.

        Returns:
            The result, with a row for each position.

        Raises:
            ValueError: the agent does not search, or refuses the positions.
        """
        raise ValueError(f"agent {self.name} does not search, so it has no result to show")

    def select(self, result: SearchResult) -> np.ndarray:
        """The actions to play after a search, int64 [N], by the agent's temperature.

        Above 0 they are drawn by Gumbel-max: the largest log(policy) / temperature + Gumbel noise.
        """
        if not self.temperature:
            return result.actions
        with np.errstate(divide="ignore", over="ignore"):
            logits = np.log(result.policies)
            scaled = (logits - logits.max(axis=1, keepdims=True)) / self.temperature
        actions: np.ndarray = (scaled + self.rng.gumbel(size=logits.shape)).argmax(axis=1)
        return actions

    def start_search(self, position: Position) -> Search:
        """What the agent thinks of an unfinished position, step by step, by all cores.

        Raises:
            ValueError: the agent cannot say what it thinks.
        """
        raise ValueError(
            f"agent {self.name} cannot say what it thinks of a position; take a trained one, uct, "
            "alphabeta or perfect"
        )

    def actions(self, states: np.ndarray) -> np.ndarray:
        """Choose an action for the player to move in each position, all in one call.

        By default each unfinished position is searched; a class with `play` plays one move of a
        game that begins there, without `finish`.

        Args:
            states: structured array [N] of ``game.state_dtype``; it is not changed.

        Returns:
            int64[N], a legal action for each position, -1 where the game is over, `RESIGN` if a
            class with `play` resigns.

        Raises:
            ValueError: ``states`` is not such an array.
            NotImplementedError: its class has neither ``search`` nor ``actions`` nor ``play``.
        """
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        places = np.flatnonzero(states["outcome"] == ONGOING)
        playing = np.ascontiguousarray(states[places])
        if self.searches:
            if len(places):
                chosen[places] = self.select(self.search(playing))
        elif type(self).play is not Agent.play:
            games = games_from(self.game, playing)
            self.begin(games)
            chosen[places] = self.play(games, playing)
        else:
            raise NotImplementedError(
                f"agent {self.name} cannot choose: {type(self).__name__} must have search, actions "
                "or play"
            )
        return chosen

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """How much the agent prefers each action, for callers that rule out its choice.

        Args:
            states: as for `actions`, of unfinished games.

        Returns:
            float [N, A]; only the order within a row has a meaning, and entries of illegal actions
            have none. By default all are equal.
        """
        return np.zeros((len(self._check(states)), self.game.num_actions))

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Called before the first decision of these games."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """Choose an action in each of these games of a match, all with the agent to move.

        Args:
            games: N games.
            states: their positions, as for `actions`.

        Returns:
            int64[N], a legal action for each, or `RESIGN`, which only matches take.
        """
        return self.actions(states)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called once when these games are over, or abandoned; see `GameInPlay.reward`."""

    def choose(self, position: Position) -> int:
        """Choose an action for the player to move in ``position``.

        Returns:
            A legal action, or `RESIGN` if a class with `play` resigns.

        Raises:
            ValueError: the game is over, or it is not the game that this agent plays.
        """
        if position.game != self.game:
            raise ValueError(f"agent {self.name} plays {self.game}, not {position.game}")
        if position.is_over:
            raise ValueError(f"agent {self.name} cannot move: the game is over")
        return int(self.actions(position.states)[0])

    def __repr__(self) -> str:
        return f"<agent {self.name} for {self.game}>"

    def _check(self, states: np.ndarray) -> np.ndarray:
        """The positions as compiled functions need them: contiguous, writable, of an aligned dtype.

        A dtype that was read from a file has lost its aligned flag, although it equals the game's.

        Raises:
            ValueError: they are not a structured array [N] of the game's positions.
        """
        game = self.game
        if not isinstance(states, np.ndarray) or states.dtype != game.state_dtype:
            kind = getattr(states, "dtype", type(states).__name__)
            raise ValueError(f"positions of {game} are needed, not {kind}")
        if states.ndim != 1:
            raise ValueError(f"positions are an array of shape [N], not {states.shape}")
        return np.require(states, requirements=["C", "A", "W"]).view(game.state_dtype)

    def _streams(self, count: int) -> np.ndarray:
        """Generator states for ``engine.rule.random_below``, int64[count, 2]."""
        return self.rng.integers(1, 1 << 32, (count, 2))


class InstantSearch(Search):
    """The `Search` of an agent that answers at once, without simulations.

    Args:
        position: the first position.
        answer: function from a position to the result for it, and notes: for the position with the
            key ``None``, and for each legal action, the best first.
    """

    simulations = None

    def __init__(
        self,
        position: Position,
        answer: Callable[[Position], tuple[SearchResult, dict[int | None, str]]],
    ) -> None:
        self._position = position.copy()
        self._answer = answer
        self._known: tuple[SearchResult, dict[int | None, str]] | None = None

    def think(self, budget: Budget, progress: Progress = SILENT) -> None:
        """Answer, whatever the budget; see `Search.think`."""
        self.result()

    def result(self) -> SearchResult:
        """See `Search.result`."""
        return self._know()[0]

    def lines(self) -> list[tuple[int, ...]]:
        """See `Search.lines`; nothing is known of what follows an action."""
        return [(action,) for action in self._know()[1] if action is not None]

    def note(self, action: int | None = None) -> str:
        """See `Search.note`."""
        return self._know()[1][action]

    def play(self, action: int) -> None:
        """See `Search.play`."""
        self._position.play(action)
        self._known = None

    def _know(self) -> tuple[SearchResult, dict[int | None, str]]:
        if self._known is None:
            self._known = self._answer(self._position)
        return self._known


def best_first(position: Position, best: np.ndarray, note: str) -> dict[int | None, str]:
    """Notes for an `InstantSearch`: ``note`` for the actions in bool [A] ``best``, others last."""
    legal = position.legal_actions
    notes = dict.fromkeys(legal[best[legal]].tolist(), note)
    return notes | dict.fromkeys(legal[~best[legal]].tolist(), "not better")


class Needs(Flag):
    """What an agent needs."""

    NOTHING = 0
    CODE = auto()  #: code from outside this package: the spec names it, and it may change
    NETWORK = auto()  #: a trained network
    SCORE = auto()  #: rules that count a score
    ONE_THREAD = auto()  #: that one thread at a time uses it, or another agent of the same spec


@dataclass(frozen=True, kw_only=True)
class AgentSpec(ABC):
    """The description of an agent, which makes the agent for a game.

    It is the agent's identity: equal specs make agents that play alike, with the same seed. What an
    agent's name means is a spec (`read_agent`), and ``str(spec)`` is the name that `read_agent`
    reads as the same spec, except of objects that have no such name.

    A subclass is a kind of agents. It is a frozen dataclass with keywords alone; those of its
    fields that a name can set are made by `setting`.

    Attributes:
        usage: the form of its names, such as ``uct[:PLAYOUTS]``.
        help: a description of the kind in a line.
        risk: what a name may do, such as ``runs code``; then names of this kind are refused in
            files. Empty for a harmless kind.
        argument: the setting that a number after the colon of a name stands for; empty for none.
        filled_in: what the spec writes down for settings that are not given.
    """

    usage: ClassVar[str] = ""
    help: ClassVar[str] = ""
    risk: ClassVar[str] = ""
    argument: ClassVar[str] = ""
    filled_in: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """The spec that a name means.

        Args:
            argument: the text after the colon, ``None`` without a colon.
            settings: texts by key.
            others: fields that are not settings.

        Raises:
            ValueError: the name is not accepted; the message says why.
        """
        number, known = cls.argument, settings_of(cls)
        if argument is not None:
            if not number:
                raise ValueError("it takes no number")
            if number in settings:
                raise ValueError(f"{number} is set twice, as {quoted(argument)} and by its name")
            settings = {number: argument, **settings}
        for key in settings:
            if key not in known:
                keys = f"accepted here: {', '.join(known)}" if known else "it takes none"
                hint = (
                    f": it is called {RENAMED[key]}"
                    if RENAMED.get(key) in known
                    else did_you_mean(key, known)
                )
                raise ValueError(f"there is no setting {quoted(key)}{hint}; {keys}")
        for key in known:
            if key in settings:
                value, field = known[key]["read"](settings[key]), known[key].get("field")
                others |= {field: (*others.get(field, ()), (key, value))} if field else {key: value}
        return cls(**others)

    @property
    def needs(self) -> Needs:
        """What the agent needs; by default its kind is code from outside this package."""
        return Needs.CODE

    @property
    def subject(self) -> str:
        """The name without its number and its settings; by default the word of the kind."""
        word = re.match(r"\w+", self.usage)
        return word[0] if word else type(self).__name__

    @property
    def short(self) -> str:
        """`subject` for tables and messages, perhaps shortened. Different specs may share it."""
        return self.subject

    def __str__(self) -> str:
        return self.subject + self._settings_text()

    @property
    def label(self) -> str:
        """The name in tables and messages; `labels_of` makes the labels of several differ."""
        return self.short + self._settings_text()

    def _settings_text(self) -> str:
        """The number and the settings that differ from their defaults, as in a name."""
        number = getattr(self, self.argument) if self.argument else None
        texts: dict[str, str] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if "options" in each.metadata:
                texts |= {key: text_of(option) for key, option in value}
            elif (
                "read" in each.metadata
                and each.name != self.argument
                and value not in (each.default, self.filled_in.get(each.name))
            ):
                texts[each.name] = each.metadata["write"](value)
        return ("" if number is None else f":{number}") + settings_text(texts)

    def choose_game(self, options: dict[str, Any], name: str | None = None) -> Game | None:
        """The game to play: a trained agent's, its own options replaced by the given ones.

        Args:
            options: the options that are given.
            name: name of the game, if the agent can be made for any game.

        Returns:
            ``None`` if the agent can be made for any game, and ``name`` is not given.

        Raises:
            ValueError, FileNotFoundError: there is no such agent, game or option.
            ImportError: the agent needs a package that is not installed.
        """
        return None if name is None else make_game(name, **options)

    def with_simulations(self, simulations: int | None) -> AgentSpec:
        """The same spec with a number of simulations for each move, unless its name sets a budget.

        Agents without such simulations, and ``None``, change nothing.
        """
        return self

    def network_file(self, game: Game) -> Path | None:
        """The file of the agent's network; None if it has no file of its own.

        Raises:
            FileNotFoundError, ImportError, ValueError: as `make`.
        """
        return None

    @abstractmethod
    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``.

        Raises:
            ValueError: it cannot play that game, or its file cannot be read.
            FileNotFoundError: there is no such agent.
            ImportError: it needs a package that is not installed.
        """


def require_different(specs: Sequence[AgentSpec]) -> None:
    """Raise ``ValueError`` if two specs are equal, however they were written."""
    for spec, times in Counter(specs).items():
        if times > 1:
            raise ValueError(f"agent {quoted(str(spec))} is named twice")


def labels_of(specs: Iterable[AgentSpec]) -> dict[AgentSpec, str]:
    """Labels of agents that meet: their own, or their whole names where two agents' are alike.

    So the agent of ``runs/corso`` and the shipped one, both ``corso:64`` in tables, are told apart.
    Where whole names are alike too, they get numbers.
    """
    names = {spec: escaped(str(spec)) for spec in specs}
    shared = Counter(spec.label for spec in names)
    labels = {spec: name if shared[spec.label] > 1 else spec.label for spec, name in names.items()}
    if len({*labels.values()}) < len(labels):  # a whole name is another agent's label
        labels = names
    shared, seen = Counter(labels.values()), Counter[str]()
    for spec, label in labels.items():
        if shared[label] > 1:  # two objects of the caller may have one name
            seen[label] += 1
            labels[spec] = f"{label} ({seen[label]})"
    return labels
