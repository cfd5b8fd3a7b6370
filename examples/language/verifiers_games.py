"""Games as an environment of verifiers: a model plays whole games against an agent.

    eval verifiers_games --env.taskset.game osiron --env.taskset.opponent level:2 -m MODEL
    eval verifiers_games --env.reward value       # reward by the exact value that moves lose

In each task the model plays the game of a seed, in either seat. After an answer without a legal
move it is told why; more than `retries` of them in a row lose the game. The reward is the result
(1, 0.5, 0), or with ``value`` the share of the exact value that the model's moves kept, of those
moves whose values a search proves, 0 if there are none. Both are 0 if the game was not played to
its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import verifiers.v1 as vf

from ludarium.analysis.probing import prober_of
from ludarium.envs import make_game
from ludarium.envs.engine.position import Position
from ludarium.language.text import PROMPTS, read_answer
from ludarium.training.agents import Agent, make_agent
from ludarium.training.evaluation import draw_openings

NODES = 20_000  # positions searched for the exact values of a position's moves


class Play:
    """One game, in which the model has one seat and an agent the other."""

    def __init__(self, game: str, options: dict[str, Any], opponent: str, seed: int) -> None:
        self.game, self.seat = make_game(game, **options), seed % 2
        opening = draw_openings(self.game, 1, None, seed)
        self.position = Position.of_state(self.game, opening.states[0])
        begun = self.game.start(opening.seeds[0] if self.game.random_start else 0)
        self.moves = begun.play_all(opening.actions[0])
        self.opponent: Agent = make_agent(opponent, self.game, seed)
        self.losses: list[float] = []
        self._prober = prober_of(self.game, 1 << 24)
        self._reply()

    def _reply(self) -> None:
        """Let the opponent move until it is the model's turn, or the game is over."""
        while not self.position.is_over and self.position.mover != self.seat:
            self._play(self.opponent.choose(self.position))

    def _play(self, action: int) -> None:
        self.moves.append(self.position.action_to_text(action))
        self.position.play(action)

    def move(self, action: int) -> None:
        """Play the model's move and the reply; note what the move lost, if that is known."""
        answers = self._prober.actions(self.position, NODES, leads=False)
        outcomes = {each: answer.outcome for each, answer in answers.items()}
        best = max((each for each in outcomes.values() if each is not None), default=None)
        got = outcomes[action]
        if got is not None and best is not None and (best == 1 or None not in outcomes.values()):
            self.losses.append(float(best - got))
        self._play(action)
        self._reply()

    @property
    def question(self) -> str:
        """The next question."""
        return PROMPTS.question(self.position, self.moves)


class GameConfig(vf.TasksetConfig):
    game: str = "corso"
    options: dict[str, Any] = {}
    opponent: str = "level:1"


class GameData(vf.TaskData):
    info: dict


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):
    pass


class GameTaskset(vf.Taskset[GameTask, GameConfig]):
    """A game for each seed, without end; the model is player_0 where the seed is even."""

    INFINITE = True

    def load(self) -> Iterator[GameTask]:
        config = self.config
        for seed in itertools.count():
            info = {
                "game": config.game,
                "options": dict(config.options),
                "opponent": config.opponent,
                "seed": seed,
            }
            play = Play(**info)
            data = GameData(
                name=f"{config.game}#{seed}",
                system_prompt=PROMPTS.rules(play.game),
                prompt=play.question,
                info=info,
            )
            yield GameTask(data, config.task)


class GameEnvConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig()
    reward: Literal["result", "value"] = "result"
    retries: int = 2


class GameEnv(vf.Env[GameEnvConfig]):
    """The game engine plays the user: it answers a move with the next question."""

    async def run(self, task: GameTask, agents: Any) -> None:
        play, faults, wrong = Play(**task.data.info), 0, 0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                said = read_answer(play.position, segment.last_reply)
                if said.action is None:
                    faults, wrong = faults + 1, wrong + 1
                    if wrong > self.config.retries:
                        break
                    segment = await interaction.turn(PROMPTS.correction(said))
                    continue
                wrong = 0
                play.move(said.action)
                if play.position.is_over:
                    break
                segment = await interaction.turn(play.question)
        over = play.position.is_over
        points = (1 + play.position.rewards[play.seat]) / 2 if over else 0.0
        moves = play.losses if over else []  # a game that is given up keeps nothing
        kept = 1 - sum(moves) / (2 * len(moves)) if moves else 0.0
        by_value = self.config.reward == "value"
        trace = interaction.trace
        trace.record_reward("result", points, float(not by_value))
        trace.record_reward("value_kept", kept, float(by_value))
        trace.record_metric("illegal_answers", float(faults))
        trace.info["moves"] = play.moves


__all__ = ["GameEnv", "GameTaskset"]
