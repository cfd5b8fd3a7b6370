"""Opponents of an environment's agent: one contract for all environments with one agent.

An opponent is

- ``"random"``, or the name of an agent that an installed package makes, such as the training
  package: ``"uct:1000"``, ``"level:3"``, a checkpoint's path;
- a function from a `Position` to a legal action, its number or its text;
- an object that is given whole games, see `Player`, such as an agent of the training package;
- `FromArrays`, around a function from observations and masks of many games to their actions.

Environments of many games also take `Opponents`, which may differ from game to game. Anything else
is refused when the environment is made. Without other packages the only name is ``"random"``.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ludarium.base.messages import quoted

from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import Position
from .engine.rule import ONGOING

if TYPE_CHECKING:
    from .batch import BatchEnv

#: The group of the installed function ``make_agent(spec, game, seed)`` that turns names into
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
        """Actions, integers [N], in the positions ``states`` [N] of these games."""

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called once when these games are over or abandoned; `GameInPlay.reward` is the result."""


@runtime_checkable
class Opponents(Protocol):
    """The opponent of each game of a `OneSide`; it is told when games begin and end."""

    def begin(self, games: np.ndarray) -> None:
        """Called when these games, int64[K], have begun and their openings have been played."""

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Actions, integers [K], for games int64[K] of ``batch`` where the opponent is to move."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Called once after these games end; ``rewards`` float32[K] are the agent's.

        A reward is NaN where the game was abandoned by a reset or by closing the environment.
        """


class FromArrays:
    """An opponent that chooses in many games at once, by the observations of an agent in its place.

    Args:
        policy: function that takes observations [K, ...] and masks [K, A] of the games where it
            is to move, in the frame of the environment, and returns K legal actions.
    """

    def __init__(self, policy: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        self.policy = policy

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Choose the actions in some of the games of a batch."""
        return self.policy(batch.observations[games], batch.masks[games])

    def choose_alone(self, observation: np.ndarray, mask: np.ndarray) -> Any:
        """Choose the action in one game."""
        return np.asarray(self.policy(observation[None], mask[None])).reshape(-1)[0]


class PlayerOpponents:
    """One `Player` as the opponent in all games of a `OneSide`, asked for many moves at once.

    Args:
        player: the agent.
        batch: the games.
        seats: int64[N], the opponent's player index in each game; it may change between games.
        seeds: int64[N], seeds of the games' starts, likewise; 0 where they are not random.
        actions: the actions so far in each, in the board's own frame; a new list for each game.
        starts: the text of the position that each began at, None for the game's start.
    """

    def __init__(
        self,
        player: Player,
        batch: BatchEnv,
        seats: np.ndarray,
        seeds: np.ndarray,
        actions: list[list[int]],
        starts: list[str | None],
    ) -> None:
        self._player = player
        self._batch = batch
        self._seats = seats
        self._seeds = seeds
        self._actions = actions
        self._starts = starts
        self._handles: dict[int, GameInPlay] = {}

    def begin(self, games: np.ndarray) -> None:
        """Hand over new games."""
        for game in games.tolist():
            self._handles[game] = GameInPlay(
                self._batch.game,
                game,
                1 - int(self._seats[game]),
                int(self._seeds[game]),
                self._batch._states,
                self._actions[game],
                self._starts[game],
            )
        if len(games):
            self._player.begin([self._handles[game] for game in games.tolist()])

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Ask for a move in each game; see `Opponents.choose`."""
        handles = [self._handles[game] for game in games.tolist()]
        actions = np.asarray(self._player.play(handles, batch._states[games]))
        if not batch.canonical or actions.shape != games.shape or actions.dtype.kind not in "iu":
            return actions  # the batch refuses what is wrong
        positions = [batch.position(game) for game in games.tolist()]
        return _in_frame(batch, positions, actions.tolist())

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Tell the player that games are over or abandoned."""
        handles = [self._handles.pop(game) for game in games.tolist()]
        for handle, reward in zip(handles, rewards, strict=True):
            end_game(handle, is_forfeit=reward == -1)
        if handles:
            self._player.finish(handles)


class Chooser:
    """Opponents that only choose, in the same way in all games."""

    def __init__(self, choose: Callable[[BatchEnv, np.ndarray], Any]) -> None:
        self.choose = choose

    def begin(self, games: np.ndarray) -> None:
        """Nothing to prepare."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Nothing to note."""


def no_turn(seat: int | str) -> ValueError:
    """The error for a seat in which games end before the agent can act."""
    return ValueError(
        f"{MOST_BEGINNINGS} games in a row ended before the agent's first turn with seat={seat!r}: "
        "take another seat"
    )


def end_game(handle: GameInPlay, is_forfeit: bool) -> None:
    """End a player's handle of a game, before the player's `finish` is called.

    Args:
        handle: the player's handle.
        is_forfeit: the other side has lost; it has forfeited if the rules let the game go on.
    """
    goes_on = handle.position.outcome == ONGOING
    handle.end(forfeited_by=1 - handle.seat if goes_on and is_forfeit else None)


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


def make_opponent(opponent: Any, game: Game, seed: int | None) -> Any:
    """Make the opponent that a value stands for, see this module.

    Args:
        opponent: the value.
        game: the rules that it is to play by.
        seed: seed of an agent that is given by name.

    Returns:
        ``"random"``, a `Player`, a `Policy` or `FromArrays`.

    Raises:
        ImportError: no installed package makes agents.
        ValueError: the value is no opponent, or plays another game; or a name means no agent.
    """
    if isinstance(opponent, FromArrays):
        return opponent
    if isinstance(opponent, str) and opponent:
        if opponent == "random":
            return opponent
        agent = _named_agent(opponent, game, seed)
        return agent if isinstance(agent, Player) else agent.choose
    is_class = inspect.isclass(opponent)
    if isinstance(opponent, Player) and not is_class:
        plays = getattr(opponent, "game", None)
        if isinstance(plays, Game) and plays != game:
            raise ValueError(f"the opponent plays {plays}, not {game}")
        return opponent
    if callable(opponent) and not is_class and _takes_one(opponent):
        return opponent
    raise ValueError(
        f"opponent is {quoted(opponent)}; accepted: the name of an agent, a function from a "
        "Position to an action, an agent (begin, play, finish), or FromArrays around a function "
        "of observations and masks; a network: as_agent(network, game)"
    )


def restarted(opponent: Any, made: Any, game: Game, random: np.random.Generator) -> Any:
    """The opponent that `make_opponent` made, reseeded or made again if it was given by name.

    Args:
        opponent: the value that stands for it.
        made: what `make_opponent` returned for it.
        game: as for `make_opponent`.
        random: the seed is drawn from it.
    """
    if not isinstance(opponent, str) or opponent == "random":
        return made
    seed = int(random.integers(2**31))
    if not hasattr(made, "restart"):
        return make_opponent(opponent, game, seed)
    made.restart(seed)
    return made


def _takes_one(function: Any) -> bool:
    """Whether a function can be called with one argument, as far as its signature tells."""
    if any(kind.__module__.startswith("torch.nn") for kind in type(function).__mro__):
        return False  # a network takes observations, not a position
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # some compiled functions have no signature
        return True
    return True


def _named_agent(spec: str, game: Game, seed: int | None) -> Any:
    """The agent called ``spec`` from an installed package: a `Player`, or one with ``choose``."""
    makers = entry_points(group=OPPONENT_ENTRY_POINTS, name="make_agent")
    try:
        maker = next(iter(makers)).load()
    except (StopIteration, ModuleNotFoundError) as error:
        raise ImportError(
            f"the opponent {quoted(spec)} needs the training package: "
            'pip install "ludarium[train]"; without it, the only name is "random"'
        ) from error
    return maker(spec, game, seed)


# Ways to choose in a batch; module-level functions, so that they can be copied and pickled.


def _at_random(batch: BatchEnv, games: np.ndarray) -> np.ndarray:
    return batch.random_actions()[games]


def _ask_each(policy: Policy, batch: BatchEnv, games: np.ndarray) -> list[int]:
    """Ask a function game by game; returns its actions in the frame of the batch."""
    positions = [batch.position(int(game)) for game in games]
    return _in_frame(batch, positions, [ask(policy, position) for position in positions])


def _in_frame(batch: BatchEnv, positions: list[Position], actions: list[int]) -> list[int]:
    """Actions of the board's frame in that of the batch, which refuses numbers out of range."""
    count = batch.game.num_actions
    return [
        position.turned_action(action) if batch.canonical and 0 <= action < count else action
        for position, action in zip(positions, actions, strict=True)
    ]


def in_batch(made: Any) -> Opponents:
    """Return `Opponents` as they are, and wrap any other opponent but a `Player` as `Opponents`."""
    if isinstance(made, Opponents):
        return made
    if isinstance(made, str):
        return Chooser(_at_random)
    if isinstance(made, FromArrays):
        return Chooser(made.choose)
    return Chooser(partial(_ask_each, made))


def check_choice(name: str, value: Any, accepted: tuple) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``accepted``, of the same type."""
    if isinstance(value, np.integer):
        value = int(value)
    if not any(type(value) is type(known) and value == known for known in accepted):
        choices = ", ".join(repr(known) for known in accepted)
        raise ValueError(f"{name} is {quoted(value)}; accepted: {choices}")
