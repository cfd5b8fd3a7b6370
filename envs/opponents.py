"""Opponents of an environment's agent: one contract for all environments with one agent.

An opponent is

- ``"random"``, or the name of an agent that an installed package makes, such as the training
  package: ``"uct:1000"``, ``"level:3"``, a checkpoint's path;
- a function from a `Position` to a legal action, its number or its text;
- an object that is given whole games, see `Player`, such as an agent of the training package;
- `FromArrays`, around a function from observations and masks of many games to their actions;
- `Opponents`, which may differ from game to game.

`make_opponents` makes `Opponents` of any of them, which environments then ask. Other values are
refused when the environment is made. Without other packages the only name is ``"random"``.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ludarium.base.messages import quoted

from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import Position
from .engine.rule import ONGOING

#: The group of the installed function ``make_agent(name, game, seed)`` that turns names into
#: opponents: one entry point, called ``make_agent``.
OPPONENT_ENTRY_POINTS = "ludarium.opponents"

SEATS = (0, 1, "random", "alternate")
#: A further seat of `VectorBoardGameEnv`: the agent plays both sides.
BOTH = "both"

#: A game that ends before the agent's first turn begins anew, at most this often in a row.
MOST_BEGINNINGS = 1000

#: A function that plays: from a position to a legal action's number or text.
Policy = Callable[[Position], Any]


@runtime_checkable
class Player(Protocol):
    """An agent that is given whole games, as agents of the training package are.

    If it has an attribute ``game``, it plays only that `Game`.
    """

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Called before its first decision in these games."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> Any:
        """Actions, integers [N], in the positions ``states`` [N] of these games.

        They are in the board's own frame, whatever that of the environment is.
        """

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called once when these games are over or abandoned; `GameInPlay.reward` is the result."""


class Table(Protocol):
    """The games that opponents choose in: a `BatchEnv`, or the one game of a `SingleAgentEnv`.

    Attributes:
        game: the rules.
        canonical: whether observations, masks and actions are in the canonical frame.
        records: structured [N], the positions.
        observations: float32 or uint8 [N, ...], as each game's player to move sees it.
        masks: int8[N, A], the mover's legal actions.
    """

    game: Game
    canonical: bool
    records: np.ndarray
    observations: np.ndarray
    masks: np.ndarray

    def position(self, index: int) -> Position:
        """A copy of one game's position."""

    def random_actions(self) -> np.ndarray:
        """A legal action of each game that goes on, int64[N], in the table's frame."""


@runtime_checkable
class Opponents(Protocol):
    """The opponent of each game of an environment; it is told when games begin and end."""

    def begin(self, games: np.ndarray) -> None:
        """Called when these games, int64[K], have begun and their openings have been played."""

    def choose(self, table: Any, games: np.ndarray) -> Any:
        """Actions, integers [K], for games int64[K] of a `Table` where the opponent is to move.

        They are in the table's frame.
        """

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Called once after these games end; ``rewards`` float32[K] are the agent's.

        A reward is NaN where the game was abandoned: by a reset, by closing the environment, or by
        ``max_episode_steps`` of `VectorBoardGameEnv`.
        """


class _Chooser:
    """Opponents that only choose, in the same way in all games."""

    def begin(self, games: np.ndarray) -> None:
        """Nothing to prepare."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Nothing to note."""


class _AtRandom(_Chooser):
    """Opponents that play any legal action."""

    def choose(self, table: Table, games: np.ndarray) -> np.ndarray:
        """Draw the actions."""
        return table.random_actions()[games]


class FromArrays(_Chooser):
    """An opponent that chooses in many games at once, by the observations of an agent in its place.

    Args:
        policy: function that takes observations [K, ...] and masks [K, A] of the games where it
            is to move, in the frame of the environment, and returns K legal actions.
    """

    def __init__(self, policy: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        self.policy = policy

    def choose(self, table: Table, games: np.ndarray) -> Any:
        """Ask for all actions together."""
        return self.policy(table.observations[games], table.masks[games])


class _FromFunction(_Chooser):
    """A function that is asked game by game."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def choose(self, table: Table, games: np.ndarray) -> list[int]:
        """Ask for each action."""
        positions = [table.position(game) for game in games.tolist()]
        return _in_frame(table, positions, [ask(self.policy, each) for each in positions])


class FromPlayer:
    """One `Player` as the opponent in all games, asked for many moves at once.

    Args:
        player: the agent.
        handle: function from the number of a game that has just begun to the agent's handle of it.
    """

    def __init__(self, player: Player, handle: Callable[[int], GameInPlay]) -> None:
        self.player = player
        self._handle = handle
        self._handles: dict[int, GameInPlay] = {}

    def begin(self, games: np.ndarray) -> None:
        """Hand over new games."""
        begun = {game: self._handle(game) for game in games.tolist()}
        self._handles |= begun
        if begun:
            self.player.begin([*begun.values()])

    def choose(self, table: Table, games: np.ndarray) -> Any:
        """Ask for a move in each game; see `Opponents.choose`."""
        handles = [self._handles[game] for game in games.tolist()]
        actions = np.asarray(self.player.play(handles, table.records[games]))
        if not table.canonical or actions.shape != games.shape or actions.dtype.kind not in "iu":
            return actions  # the environment refuses what is wrong
        positions = [table.position(game) for game in games.tolist()]
        return _in_frame(table, positions, actions.tolist())

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Tell the player that games are over or abandoned.

        The other side has forfeited a game that it has lost, if the rules let it go on.
        """
        handles = [self._handles.pop(game) for game in games.tolist()]
        for handle, reward in zip(handles, rewards, strict=True):
            goes_on = handle.position.outcome == ONGOING
            handle.end(forfeited_by=1 - handle.seat if goes_on and reward == -1 else None)
        if handles:
            self.player.finish(handles)


#: Whatever stands for an opponent, see this module.
Opponent = str | Policy | Player | Opponents


def no_turn(seat: int | str) -> ValueError:
    """The error for a seat in which games end before the agent can act."""
    return ValueError(
        f"{MOST_BEGINNINGS} games in a row ended before the agent's first turn with seat={seat!r}: "
        "take another seat"
    )


def ask(policy: Policy, position: Position, who: str = "the opponent") -> int:
    """The number of the action that a function chooses.

    Args:
        policy: the function.
        position: where it is to move; it is given a copy.
        who: its name, for errors.

    Raises:
        ValueError: it returned neither an integer nor the text of a legal action. Whether the
            action of an integer is legal is not checked.
    """
    answer = policy(position.copy())
    if isinstance(answer, str):
        try:
            return position.text_to_action(answer)
        except ValueError as error:
            raise ValueError(f"{who}: {error}") from None
    number = np.asarray(answer)
    if number.size != 1 or number.dtype.kind not in "iu":
        raise ValueError(
            f"{who} answered {quoted(answer)}: a player returns the number of a legal action, or "
            "its text"
        )
    return operator.index(number.reshape(())[()])


def make_opponents(
    opponent: Any, game: Game, seed: int | None, handle: Callable[[int], GameInPlay]
) -> Opponents:
    """Make the opponents that a value stands for, see this module.

    Args:
        opponent: the value.
        game: the rules that it is to play by.
        seed: seed of an agent that is given by name.
        handle: for a `Player`, see `FromPlayer`.

    Raises:
        ImportError: no installed package makes agents, or the agent needs one that is missing.
        ValueError: the value is no opponent, or plays another game; or a name means no agent.
        FileNotFoundError: there is no agent in the folder, or no file, that the name means.
    """
    if isinstance(opponent, str) and opponent:
        if opponent == "random":
            return _AtRandom()
        agent = _named_agent(opponent, game, seed)
        is_player = isinstance(agent, Player)
        return FromPlayer(agent, handle) if is_player else _FromFunction(agent.choose)
    if not inspect.isclass(opponent):
        if isinstance(opponent, Player):
            plays = getattr(opponent, "game", None)
            if isinstance(plays, Game) and plays != game:
                raise ValueError(f"the opponent plays {plays}, not {game}")
            return FromPlayer(opponent, handle)
        if isinstance(opponent, Opponents):
            return opponent
        if callable(opponent) and _takes_one(opponent):
            return _FromFunction(opponent)
    raise ValueError(
        f"opponent is {quoted(opponent)}; accepted: the name of an agent, a function from a "
        "Position to an action, an agent (begin, play, finish), or FromArrays around a function "
        "of observations and masks; a network: as_agent(network, game)"
    )


def restarted(
    opponent: Any,
    made: Opponents,
    game: Game,
    random: np.random.Generator,
    handle: Callable[[int], GameInPlay],
) -> Opponents:
    """The opponents that `make_opponents` made; those of a name are reseeded or made again.

    ``"random"`` needs neither, because it draws from the environment's random numbers.

    Args:
        opponent: the value that stands for them.
        made: what `make_opponents` returned for it.
        game, handle: as for `make_opponents`.
        random: the seed is drawn from it.

    Raises:
        ImportError, ValueError, FileNotFoundError: as for `make_opponents`.
    """
    if not isinstance(opponent, str) or opponent == "random":
        return made
    seed = int(random.integers(2**31))
    player: Any = made.player if isinstance(made, FromPlayer) else None
    if not hasattr(player, "restart"):
        return make_opponents(opponent, game, seed, handle)
    player.restart(seed)
    return made


def _takes_one(function: Any) -> bool:
    """Whether a function can be called with one position, as far as its type and signature tell."""
    if any(kind.__module__.startswith("torch.nn") for kind in type(function).__mro__):
        return False  # a network takes observations, not a position
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # some compiled functions have no signature
        return True
    return True


def _named_agent(name: str, game: Game, seed: int | None) -> Any:
    """The agent called ``name`` from an installed package: a `Player`, or one with ``choose``."""
    makers = entry_points(group=OPPONENT_ENTRY_POINTS, name="make_agent")
    try:
        maker = next(iter(makers)).load()
    except (StopIteration, ModuleNotFoundError) as error:
        raise ImportError(
            f"the opponent {quoted(name)} needs the training package: "
            'pip install "ludarium[train]"; without it, the only name is "random"'
        ) from error
    return maker(name, game, seed)


def _in_frame(table: Table, positions: list[Position], actions: list[int]) -> list[int]:
    """Actions of the board's frame in that of the table, which refuses numbers out of range."""
    count = table.game.num_actions
    return [
        position.turned_action(action) if table.canonical and 0 <= action < count else action
        for position, action in zip(positions, actions, strict=True)
    ]


def check_choice(name: str, value: Any, accepted: tuple) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``accepted``, of the same type."""
    if isinstance(value, np.integer):
        value = int(value)
    if not any(type(value) is type(known) and value == known for known in accepted):
        choices = ", ".join(repr(known) for known in accepted)
        raise ValueError(f"{name} is {quoted(value)}; accepted: {choices}")
