"""The PettingZoo AEC environment of any game.

`BoardGameEnv` is what ``raw_env()`` gives: an illegal action is a ``ValueError`` and changes
nothing. `GuardedBoardGameEnv` is what ``env()`` gives: it behaves as PettingZoo's classic
games do under TerminateIllegalWrapper, AssertOutOfBoundsWrapper and OrderEnforcingWrapper,
without the wrappers, which cost several times what the game does.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_flag, checked_seed, index

from .engine.codec import encode_states
from .engine.draw.picture import Window, pixels, with_result
from .engine.game import Game
from .engine.position import IllegalActionError, Position, starts_in
from .engine.record import Forfeit, RecordedGame
from .engine.rule import ONGOING, TRUNCATED
from .pettingzoo_private import AECIterable, AECIterator, EnvLogger

AGENTS = ("player_0", "player_1")
_PLAYERS = {"player_0": 0, "player_1": 1}
_INT8 = np.dtype(np.int8)
_SET_BY_RESET = frozenset(
    {
        "agents",
        "agent_selection",
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "moves",
        "num_agents",
        "position",
    }
)


def unit_box(shape: tuple[int, ...], dtype: Any) -> spaces.Box:
    """The space of arrays of numbers from 0 to 1, of this shape and dtype."""
    kind = np.dtype(dtype).type
    return spaces.Box(kind(0), kind(1), shape, kind)


class BoardGameEnv(AECEnv):
    """Any game as a PettingZoo AEC environment.

    Agents are ``player_0`` (moves first) and ``player_1``. An observation is a dict of
    ``observation``, float32 of ``game.observation_shape`` within [0, 1], seen from the
    observing agent's side, and ``action_mask``, int8[num_actions], all zero for the agent
    that is not to move. Each agent's mask is also in ``infos[agent]["action_mask"]``. Rewards
    come at the end of the game: +1 and -1, or 0 and 0 for a draw and at the ply cap, which
    truncates the game.

    Args:
        game: rules with their options, from `ludarium.envs.make_game`.
        render_mode: ``"ansi"`` (text), ``"svg"`` (a drawing, as text), ``"rgb_array"``
            (uint8[height, width, 3]) or ``"human"`` (a window).
        canonical: give observations, masks and actions in the frame in which each player plays in
            the same direction (see `Game.canonical_turn`), not in the board's own. Where the game
            has no such turn, this changes nothing. Text and records are the same either way.

    Attributes:
        start_seed: seed of this game's start, where starts are random.
        start_position: the position that this game began at, as a text; None at the game's start.
        moves: the actions of this game so far, in the board's own frame; a new list each game.
        refusal: why the action by which this game was lost is illegal, as a text; else empty.

    Raises:
        ValueError: an unknown render mode, or ``canonical`` is not a flag.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["human", "rgb_array", "ansi", "svg"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(self, game: Game, render_mode: str | None = None, canonical: bool = False) -> None:
        super().__init__()
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode is {quoted(render_mode)}; accepted: {', '.join(modes)}")
        self.game = game
        self.metadata = self.metadata | {"name": f"{game.name}_v{game.version}"}
        self.render_mode = render_mode
        self.canonical = checked_flag("canonical", canonical)
        self.possible_agents = list(AGENTS)
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": unit_box(game.observation_shape, np.float32),
                    "action_mask": unit_box((game.num_actions,), np.int8),
                }
            )
            for agent in AGENTS
        }
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in AGENTS}
        self._position: Position | None = None
        self._window: Window | None = None
        self.start_seed = 0
        self.start_position: str | None = None
        self.refusal = ""
        self._seeds: np.random.Generator | None = None
        self._forfeit: Forfeit | None = None  # how the game was lost, if the rules let it go on

    def __getattr__(self, name: str) -> Any:
        if name in _SET_BY_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset: call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> spaces.Space:
        """The agent's observation space; every call returns the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """The agent's action space; every call returns the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game.

        Args:
            seed: fixes this start, where starts are random, and those of the following
                resets without a seed.
            options: ``{"position": text}`` begins at this position, see `Position.text`. A game's
                options are fixed when the environment is made.

        Raises:
            ValueError: ``seed`` is not a seed, or ``position`` no position to play on from; nothing
                is changed.
        """
        self._reset(seed, starts_in(self.game, options))

    def _reset(self, seed: int | None, starts: list[Position] | None) -> None:
        """`reset` with the positions that `starts_in` has found in its options."""
        if seed is not None:
            self.start_seed = checked_seed(seed)
            self._seeds = np.random.default_rng(self.start_seed)
        else:
            if self._seeds is None:
                self._seeds = np.random.default_rng()
            if self.game.random_start:
                self.start_seed = int(self._seeds.integers(2**63))
        if self._position is None:
            self._position = self.game.start(self.start_seed)
        mask, planes = self._position._new_arrays()
        self.start_position = None if starts is None else starts[0].text
        if starts is None:
            self._position._restart(self.start_seed, mask, planes, self.canonical)
        else:
            self._position._go_to(starts[0]._states)
            ((planes,), (mask,), _) = encode_states(self.game, starts[0]._states, self.canonical)
        self.moves: list[int] = []
        self._forfeit = None
        self.refusal = ""
        self.agents = list(AGENTS)
        self.rewards = {"player_0": 0, "player_1": 0}
        self._cumulative_rewards: dict[str, float] = {"player_0": 0, "player_1": 0}
        self.terminations = {"player_0": False, "player_1": False}
        self.truncations = {"player_0": False, "player_1": False}
        self._skip_agent_selection = None
        self._hand_over(mask, planes)

    def _hand_over(self, mask: np.ndarray, planes: np.ndarray) -> None:
        """Set `agent_selection`, both masks and the mover's observation."""
        position = self._current()
        mover, game = position.mover, self.game
        self.agent_selection = agent = AGENTS[mover]
        self.infos = {
            # TorchRL takes no other key beside a mask that is in the observation too.
            agent: {"action_mask": mask},
            AGENTS[1 - mover]: {"action_mask": np.zeros(game.num_actions, _INT8)},
        }
        # The mover's observation is kept until it is asked for.
        self._fresh_for: str | None = agent
        self._fresh = {
            "observation": planes.reshape(game.observation_shape),
            "action_mask": mask.copy(),
        }

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, terminated, truncated, info of ``agent_selection``.

        Args:
            observe: False gives None in place of the observation.

        Raises:
            AttributeError: before the first `reset`.
            gymnasium.error.ResetNeeded: all agents are done.
        """
        agent = self.agent_selection
        if not self.agents:
            raise ResetNeeded("the game is over: call reset() first")
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """The agent's observation, see the class; its arrays belong to the caller.

        Raises:
            ValueError: there is no such agent.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self._position is None:
            self._refuse_to_observe()
        if agent == self._fresh_for:
            self._fresh_for = None
            return self._fresh
        position = self._current()
        if not isinstance(agent, str) or agent not in _PLAYERS:
            raise ValueError(f"agent is {quoted(agent)}; accepted: {', '.join(AGENTS)}")
        player = _PLAYERS[agent]
        return {
            "observation": position.observation(player, canonical=self.canonical),
            "action_mask": self.mask()
            if player == position.mover
            else np.zeros(self.game.num_actions, _INT8),
        }

    def _refuse_to_observe(self) -> None:
        self._current()

    def _current(self) -> Position:
        """The position being played; ``ResetNeeded`` before the first `reset`."""
        if self._position is None:
            raise ResetNeeded("the game has not begun: call reset() first")
        return self._position

    def step(self, action: Any) -> None:
        """Play the action of ``agent_selection``; after the end, pass ``None``.

        Raises:
            ValueError: the action is not legal (the message names it and says why), or is not
                ``None`` for an agent whose game is over. Nothing is changed.
            gymnasium.error.ResetNeeded: the game has not begun, or all agents are done.
            ImportError: the window of ``render_mode="human"`` needs packages that are not
                installed; the action has been played.
        """
        self._current()
        if not self.agents:
            raise ResetNeeded("the game is over: call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._play(self._on_board(action))

    def mask(self) -> np.ndarray:
        """int8[num_actions], 1 for each legal action of the player to move; a new array.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        position = self._current()
        if not self.canonical:
            return position.mask
        _, masks, _ = encode_states(self.game, position._states, canonical=True)
        return masks[0]

    def is_action(self, action: Any) -> bool:
        """Whether ``action`` is an integer from 0 to ``num_actions`` - 1, legal or not."""
        try:
            return 0 <= index(action) < self.game.num_actions
        except TypeError:
            return False

    def _on_board(self, action: Any) -> Any:
        """An action as the board numbers it; anything else unchanged."""
        if not self.canonical or not self.is_action(action):
            return action
        return self._current().turned_action(index(action))

    #: One method serves both ways, because the turn is its own inverse.
    _in_frame = _on_board

    def _play(self, action: Any) -> None:
        position = self._current()
        mask, planes = position._new_arrays()
        outcome = position._play(action, mask, planes, self.canonical)
        self.moves.append(int(action))
        if outcome != ONGOING:
            self._finish(outcome)
        self._hand_over(mask, planes)
        if self.render_mode == "human":
            self.render()

    def _finish(self, outcome: int) -> None:
        capped = outcome == TRUNCATED
        self.rewards = dict(zip(AGENTS, self._current().rewards, strict=True))
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(AGENTS, not capped)
        self.truncations = dict.fromkeys(AGENTS, capped)

    def render(self) -> Any:
        """Show the position as the render mode says.

        Returns:
            A text for ``"ansi"`` and ``"svg"``, pixels for ``"rgb_array"``, None for ``"human"``.

        Raises:
            ValueError: the environment was made without a render mode.
            gymnasium.error.ResetNeeded: before the first `reset`.
            ImportError: pixels or a window need packages that are not installed.
        """
        self._current()
        if self.render_mode is None:
            raise ValueError(
                'render() needs a render mode: make the environment with render_mode="ansi", '
                '"svg", "rgb_array" or "human"'
            )
        if self.render_mode == "ansi":
            ending = [] if self._forfeit is None else [self._forfeit.told(self.game)]
            return "\n".join([self.board_text(), *ending])
        svg = self._picture()
        if self.render_mode == "svg":
            return svg
        if self.render_mode == "rgb_array":
            return pixels(svg)
        if self._window is None:
            self._window = Window(self.game.title, self.metadata["render_fps"])
        self._window.show(svg)
        return None

    def _picture(self) -> str:
        """The drawing, which also shows what the last action changed."""
        before = last = None
        if self.moves:
            *earlier, last = self.moves
            before = self._start()
            for action in earlier:
                before.play(action)
        svg = self._current().svg(last, before)
        return svg if self._forfeit is None else with_result(svg, self._forfeit.told(self.game))

    def _start(self) -> Position:
        """The position in which this game began."""
        return self.game.start(self.start_seed, self.start_position)

    def close(self) -> None:
        """Close the window, if there is one; `reset` and `render` may still be called."""
        if self._window is not None:
            self._window.close()

    # Beyond PettingZoo.

    @property
    def position(self) -> Position:
        """A copy of the position being played; ``AttributeError`` before the first `reset`."""
        if self._position is None:
            raise AttributeError  # `__getattr__` turns it into a message
        return self._position.copy()

    def action_to_text(self, action: int) -> str:
        """Notation of an action number in the present position.

        Raises:
            ValueError: not an action number.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._current().action_to_text(self._on_board(action))

    def text_to_action(self, text: str) -> int:
        """Action number of a legal action's text.

        Raises:
            ValueError: the text is malformed or not legal now; the message says which.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._in_frame(self._current().text_to_action(text))

    def board_text(self) -> str:
        """The board as lines of text; ``ResetNeeded`` before the first `reset`."""
        return self._current().board_text()

    def state(self) -> np.ndarray:
        """All fields of the rule record as one int32 vector, fractions cut off.

        An integer of 64 bits is two entries, the low half first.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        states = self._current().states
        fields = [np.ravel(states[name]) for name in states.dtype.names or ()]
        return np.concatenate(
            [
                each.view(np.int32)
                if each.dtype.kind in "iu" and each.itemsize >= 4
                else each.astype(np.int32)
                for each in fields
            ]
        )

    def clone(self) -> BoardGameEnv:
        """An independent copy of the environment and its game, without the window."""
        return copy.deepcopy(self)

    def to_record(self) -> dict[str, Any]:
        """The game so far as a JSON-ready dict (see ``engine.record``).

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        self._current()
        begun = self.game, self.start_seed, self.start_position
        return RecordedGame(*begun, self.moves, self._forfeit).to_record()


class GuardedBoardGameEnv(BoardGameEnv):
    """The environment with the behaviour of PettingZoo's classic games in their usual wrappers.

    - An illegal action ends the game: -1 for the mover, 0 for the other, with a warning.
    - An action outside the action space is an ``AssertionError``.
    - `step`, `observe`, `render`, `state` and `agent_iter` before `reset` are an
      ``AssertionError``; a step after all agents are done is ignored with a warning; a loop over
      `agent_iter` must call `step` or `reset` each time.
    """

    _has_updated = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game, see `BoardGameEnv.reset`."""
        self._has_updated = True
        super().reset(seed, options)

    def step(self, action: Any) -> None:
        """Play the action of ``agent_selection``; after the end, pass ``None``.

        Raises:
            AssertionError: the action is not in the action space, or `reset` was never called.
            ValueError: the agent's game is over, and the action is in the action space.
            ImportError: as for `BoardGameEnv.step`.
        """
        if self._position is None:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = self.agent_selection
        is_over = self.terminations[agent] or self.truncations[agent]
        if type(action) is not int or not 0 <= action < self.game.num_actions:
            is_inside = self.is_action(action) and self.action_spaces[agent].contains(action)
            if not is_inside and not (action is None and is_over):
                raise AssertionError(
                    f"action is not in action space: {quoted(action)}; actions are integers from 0 "
                    f"to {self.game.num_actions - 1}"
                )
        if is_over:
            self._was_dead_step(action)
            return
        number = self._on_board(action)
        try:
            self._play(number)
        except IllegalActionError:
            EnvLogger.warn_on_illegal_move()
            self._end_by(Forfeit(_PLAYERS[agent], int(number)))

    def _end_by(self, forfeit: Forfeit) -> None:
        """End a game that the rules let go on; an illegal action rewards nobody."""
        self._forfeit = forfeit
        agent = AGENTS[forfeit.player]
        is_resigned = forfeit.action is None
        self.refusal = "" if is_resigned else self._current().refusal(forfeit.action)
        self.rewards = dict.fromkeys(AGENTS, int(is_resigned))
        self.rewards[agent] = -1.0  # type: ignore[assignment]
        self._cumulative_rewards[agent] = 0
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(AGENTS, True)
        self.truncations = dict.fromkeys(AGENTS, True)
        self._deads_step_first()

    def _refuse_to_observe(self) -> None:
        EnvLogger.error_observe_before_reset()

    def state(self) -> np.ndarray:
        """The position as a vector, see `BoardGameEnv.state`; ``AssertionError`` before `reset`."""
        if self._position is None:
            EnvLogger.error_state_before_reset()
        return super().state()

    def render(self) -> Any:
        """Show the position, see `BoardGameEnv.render`; an ``AssertionError`` before `reset`."""
        if self._position is None:
            EnvLogger.error_render_before_reset()
        return super().render()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """Iterate over the agents to act; the loop must call `step` or `reset` for each.

        Args:
            max_iter: most agents that it gives.

        Raises:
            AssertionError: before `reset`, or if the loop called neither.
        """
        if self._position is None:
            EnvLogger.error_agent_iter_before_reset()
        return _OrderedIterable(self, max_iter)


class _OrderedIterable(AECIterable):
    def __iter__(self) -> AECIterator:
        return _OrderedIterator(self.env, self.max_iter)


class _OrderedIterator(AECIterator):
    def __next__(self) -> str:
        agent = super().__next__()
        if not self.env._has_updated:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        self.env._has_updated = False
        return agent
