"""Every game as a game of OpenSpiel, for its algorithms and tools.

    import pyspiel
    import ludarium.envs.openspiel  # registers ludarium_corso, ludarium_onyx, ...

    game = pyspiel.load_game("ludarium_corso(size=3)")
    state = game.new_initial_state()

A game's options are the parameters of its OpenSpiel game. There each parameter has a fixed type,
so an option whose default is ``None`` has 0 or ``""`` for ``None``. An option's value that the game
does not accept raises ``ValueError``; a value of another type, or an unknown parameter,
``pyspiel.SpielError``.

The additional parameter ``canonical`` is as for the environments: observations and actions as each
player sees the board, where the game has a canonical turn.

With the parameter ``position``, the text of a `Position`, every game begins there. Such a text may
have signs with a meaning in OpenSpiel's texts, such as ``=``, so give it in a mapping:
``pyspiel.load_game("ludarium_corso", {"position": "5/2O2/1X3/5/5 0"})``.

A random start is drawn by `DRAWS` chance nodes in a row, whose outcomes are the digits of its seed:
4, 2 and 7 give the start of seed 427. In a game with fewer than ten actions the base of the digits
is the number of actions.

States, observations and actions are also OpenSpiel's structs: that of a state or an observation is
JSON with the position as text, that of an action has the move, such as ``{"move": "c3"}``.
``new_initial_state`` takes the struct of a state. A chance node is no position: the structs of its
state and observation raise ``ValueError``.

This module needs ``open_spiel``; nothing else in `ludarium.envs` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError as error:
    raise ImportError("ludarium.envs.openspiel needs OpenSpiel: pip install open_spiel") from error

from ludarium.base.numbers import checked_flag

from .engine.game import Game
from .engine.options import Option
from .engine.position import Position, starts_in
from .registry import GAMES

#: Chance nodes before a random start. One with all the seeds as outcomes would have more of them
#: than the game has actions, and OpenSpiel writes outcomes into masks of a player's actions.
DRAWS = 3
_MOST_OUTCOMES = 10
_CANONICAL, _POSITION = "canonical", "position"


def register(game_class: type[Game]) -> str:
    """Register a game with OpenSpiel and return its name there.

    Importing this module registers those of `GAMES`.
    """
    game_type = _game_type(game_class)
    # OpenSpiel drops its objects after Python has ended: a class outlives that, but an object
    # without other references, such as a closure, would crash.
    spiel_class = type(f"Spiel{game_class.__name__}", (SpielGame,), {"game_class": game_class})
    pyspiel.register_game(game_type, spiel_class)
    return game_type.short_name


class SpielGame(pyspiel.Game):
    """A game with one set of options, as OpenSpiel sees it; `register` subclasses it for each game.

    Args:
        params: the options by name; those left out have their defaults.

    Attributes:
        game_class: the class of the game.
        rules: the `Game` that is played.
        canonical: whether observations and actions are as each player sees the board.
        num_outcomes: outcomes of each chance node; 0 where starts are not random.
        begin: the position at which games begin; None for the game's start.

    Raises:
        ValueError: a value that an option or ``canonical`` does not accept, or ``position`` is
            no position to play on from.
        FileNotFoundError: an option is the path of a file that does not exist.
    """

    game_class: ClassVar[type[Game]]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = dict(params or {})
        options = given.copy()
        self.canonical = checked_flag(_CANONICAL, options.pop(_CANONICAL, False))
        position = options.pop(_POSITION, "") or None
        rules = self.game_class(**_options(self.game_class, options))
        starts = starts_in(rules, {_POSITION: position})
        is_random = rules.random_start and starts is None
        self.num_outcomes = min(_MOST_OUTCOMES, rules.num_actions) if is_random else 0
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_actions,
            max_chance_outcomes=self.num_outcomes,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=rules.max_plies,
        )
        super().__init__(_game_type(self.game_class, is_random), info, given)
        self.rules = rules
        self.begin = None if starts is None else starts[0]

    def __reduce__(self) -> tuple:
        return _load, (self.get_type().short_name, self.get_parameters())

    def new_initial_state(self, state: Any = None) -> SpielState:
        """The start; where starts are random, the first chance node before it.

        Args:
            state: the struct of a state, or its ``to_dict()``: the game begins there.

        Raises:
            ValueError: the struct has no position of the game.
        """
        made = SpielState(self)
        if state is not None:
            told = state if isinstance(state, dict) else state.to_dict()
            made._position = Position.from_text(self.rules, str(told.get("position")))
        return made

    def max_chance_nodes_in_history(self) -> int:
        """`DRAWS` where starts are random, else 0."""
        return DRAWS if self.num_outcomes else 0

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """The observer that writes observations of a state; OpenSpiel calls this."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return _Observer(self.rules, params, self.canonical)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class SpielState(pyspiel.State):
    """A position of a game, as OpenSpiel sees it.

    A game that reaches its ply cap ends as a draw: OpenSpiel knows no truncation.

    Attributes:
        position: a copy of the `Position`, or None at a chance node before a random start.
    """

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.canonical = game.canonical
        self._position: Position | None = None
        if game.begin is not None:
            self._position = game.begin.copy()
        elif not game.num_outcomes:
            self._position = game.rules.start()
        self._digits: list[int] = []  # of the start's seed, as far as they are drawn

    @property
    def position(self) -> Position | None:
        """See the class."""
        return None if self._position is None else self._position.copy()

    def current_player(self) -> int:
        """0 or 1, or ``pyspiel.PlayerId.CHANCE`` or ``TERMINAL``."""
        if self._position is None:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self._position.is_over else self._position.mover

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self._position is not None and self._position.is_over

    def returns(self) -> list[float]:
        """+1 and -1 when the game is over and was not a draw, else zeros."""
        if self._position is None:
            return [0.0, 0.0]
        return [float(reward) for reward in self._position.rewards]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The next digit of the random start's seed, all equally likely.

        Raises:
            ValueError: it is a player's turn, or the game is over.
        """
        if self._position is not None:
            raise ValueError("there is no chance node here: call current_player() first")
        count = self.get_game().num_outcomes
        return [(digit, 1 / count) for digit in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        return sorted(map(self._in_frame, self._started().legal_actions.tolist()))

    def _apply_action(self, action: int) -> None:
        if self._position is not None:
            self._position.play(self._in_frame(action))
            return
        self._check_outcome(action)
        game, digits, seed = self.get_game(), [*self._digits, action], 0
        if len(digits) == DRAWS:
            for digit in digits:
                seed = game.num_outcomes * seed + digit
            self._position = game.rules.start(seed)
        self._digits = digits

    def _action_to_string(self, player: int, action: int) -> str:
        if self._position is None:
            self._check_outcome(action)
            return f"digit {action}"
        return self._position.action_to_text(self._in_frame(action))

    # Structs: dictionaries, which OpenSpiel wraps.

    def _to_struct(self) -> dict[str, Any]:
        position, player = self._started(), self.current_player()
        winner = next((f"player_{seat}" for seat in (0, 1) if position.rewards[seat] > 0), "")
        return {
            "board": position.board_text().split("\n"),
            "position": position.text,
            "ply": position.ply,
            "current_player": "Terminal" if player < 0 else f"player_{player}",
            "is_terminal": position.is_over,
            "winner": winner,
        }

    def _to_observation_struct(self, player: int) -> dict[str, Any]:
        return self._to_struct()  # both players see the same

    def _action_to_struct(self, player: int, action: int) -> dict[str, str]:
        return {"move": self._action_to_string(player, action)}

    def _struct_to_actions(self, struct: Mapping[str, Any]) -> list[int]:
        position, move = self._started(), str(struct.get("move")).strip().lower()
        try:
            action = position.game.text_to_action(position, move)
        except ValueError:
            return [position.game.num_actions]  # OpenSpiel says that it is not legal
        return [self._in_frame(action)]

    def _check_outcome(self, number: int) -> None:
        count = self.get_game().num_outcomes
        if not 0 <= number < count:
            raise ValueError(f"outcome {number} is out of range; outcomes are 0 to {count - 1}")

    def _in_frame(self, action: int) -> int:
        """The action's number in the other frame, from the board's to the canonical or back."""
        return self._started().turned_action(action) if self.canonical else action

    def _started(self) -> Position:
        if self._position is None:
            raise ValueError("a random start is to be drawn: apply an outcome of chance first")
        return self._position

    def __str__(self) -> str:
        position = self._position
        if position is None:
            return f"a random start is to be drawn; digits of its seed so far: {self._digits}"
        turn = "over" if position.is_over else f"player {position.mover} to move"
        return f"{position.board_text()}\nply {position.ply}, {turn}"


class _Observer:
    """An observer as OpenSpiel expects it; it writes the environments' observation."""

    def __init__(self, rules: Game, params: Any, canonical: bool) -> None:
        self.canonical = canonical
        if params:
            raise ValueError(f"observations have no parameters; given: {params}")
        observation = np.zeros(rules.observation_shape, np.float32)
        self.tensor = observation.reshape(-1)
        self.dict = {"observation": observation}

    def set_from(self, state: SpielState, player: int) -> None:
        """Write what ``player`` sees; zeros before a random start is drawn."""
        position = state._position
        self.dict["observation"][:] = (
            0 if position is None else position.observation(player, canonical=self.canonical)
        )

    def string_from(self, state: SpielState, player: int) -> str:
        """The position as text; both players see the same."""
        return str(state)


def _load(name: str, params: dict[str, Any]) -> SpielGame:
    """Unpickle a game; importing this module in another process registers the games."""
    return pyspiel.load_game(name, params)


def _game_type(game_class: type[Game], random_start: bool = False) -> Any:
    chance = pyspiel.GameType.ChanceMode
    return pyspiel.GameType(
        short_name=f"ludarium_{game_class.name}",
        long_name=f"{game_class.title} (ludarium, version {game_class.version})",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=chance.EXPLICIT_STOCHASTIC if random_start else chance.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={
            _CANONICAL: False,
            _POSITION: "",
            **{option.name: _default(option) for option in game_class.option_list},
        },
    )


def _default(option: Option) -> Any:
    """The default as OpenSpiel has it: 0 or "" for ``None``, which has no type there."""
    if option.default is not None:
        return option.default
    try:
        option.check(1)
    except ValueError:
        return ""
    return 0


def _options(game_class: type[Game], params: Mapping[str, Any]) -> dict[str, Any]:
    """The options that OpenSpiel's parameters stand for."""
    stand_ins = {
        option.name: _default(option) for option in game_class.option_list if option.default is None
    }
    return {
        name: None if name in stand_ins and value == stand_ins[name] else value
        for name, value in params.items()
    }


for _kind in GAMES.values():
    register(_kind)
