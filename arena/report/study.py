"""`ReportSettings`, how much to measure, and `Study`, the data for all sections of a report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.models import load_header
from ludarium.training.agents import Agent, AgentSpec, read_agent
from ludarium.training.agents.checkpoints import NetworkSpec, ShippedSpec, shipped_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.uct import UCTSpec
from ludarium.training.agents.uniform import RandomSpec
from ludarium.training.evaluation import Games, play_match
from ludarium.training.networks import learnt_options

from .enumeration import Enumeration, enumerate_positions
from .games import random_games
from .value_sources import ValueSource, exact_evaluator, playout_values, searched_values

#: The option that only changes who chooses a side.
SWAP_OPTION = "swap_rule"

#: The report's name for an agent that is a `NetworkSpec`.
TRAINED = "trained"

#: Temperature at which trained agents draw their moves in games against themselves.
VARIETY = 0.3

USUAL_GAMES, QUICK_GAMES = 400, 20  # between equals
_USUAL_PLIES = 30.0  # games are fewer if random ones are longer than this
_FEWEST_GAMES = 40


@dataclass(frozen=True)
class ReportSettings:
    """How much to measure.

    Attributes:
        games: games of the weak search, and of the agent, against itself. Random play has ten
            times as many, the strong search and each match of the ladder half as many. Even, at
            least 4. None: 400, and fewer for long games, but at least 40.
        seed: seed of everything that is drawn. On one machine the same settings give the same
            report, if the agent's moves follow from its seed.
        agent: name of the strongest player; None: the game's shipped agent if it was trained
            with these options (the swap rule apart), else the strong search.
        playouts: playouts of the weak and of the strong search.
        rungs: playouts of two or more players on the ladder, each double the one before.
        opening_playouts: playouts of each search for the value of a first move.
        opening_simulations: the same for the trained agent.
        value_playouts: playouts of the search that values positions, if there is neither a network
            nor an exact value.
        positions: most positions to count one by one.

    Raises:
        ValueError: ``games`` is not an even number from 4 on, or ``agent`` is random play, the weak
            search, or no agent's name.
    """

    games: int | None = None
    seed: int = 1
    agent: str | None = None
    playouts: tuple[int, int] = (100, 1000)
    rungs: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)
    opening_playouts: int = 2000
    opening_simulations: int = 256
    value_playouts: int = 200
    positions: int = 100_000

    def __post_init__(self) -> None:
        games = self.games
        if games is not None and (type(games) is not int or games < 4 or games % 2):
            raise ValueError(f"games of a report are an even number from 4 on, not {quoted(games)}")
        weak = RandomSpec(), UCTSpec(playouts=self.playouts[0])
        if self.agent is not None and read_agent(self.agent) in weak:
            raise ValueError(
                f"{self.agent} is one of the weak players of every report: name a stronger agent"
            )

    @classmethod
    def quick(cls, **others: Any) -> ReportSettings:
        """Settings for a first look: few games of weak players; ``others`` override if not None."""
        few: dict[str, Any] = {
            "games": QUICK_GAMES,
            "playouts": (20, 100),
            "rungs": (10, 20, 40, 80),
            "opening_playouts": 200,
            "opening_simulations": 32,
            "value_playouts": 50,
            "positions": 20_000,
        }
        return cls(**few | {name: value for name, value in others.items() if value is not None})

    def for_plies(self, plies: float) -> ReportSettings:
        """The settings with ``games`` filled in, for games in which random play takes ``plies``."""
        if self.games is not None:
            return self
        games = USUAL_GAMES * min(1.0, _USUAL_PLIES / plies)
        return replace(self, games=max(_FEWEST_GAMES, 10 * round(games / 10)))


@dataclass
class Study:
    """The data about a game while its report is made.

    Attributes:
        game: the rules.
        settings: the settings, with ``games`` filled in.
        progress: shows what is done.
        agent: the agent of the settings, or else the shipped one; None without either.
        positions: counts of the positions of the first plies, or of the whole game.
        exact: exact values of all positions, or None.
        evaluator: the best available values of any position.
        samples: games between equals, by the players' name, the weakest first.
    """

    game: Game
    settings: ReportSettings
    progress: Progress
    agent: AgentSpec | None
    positions: Enumeration
    exact: ValueSource | None
    evaluator: ValueSource
    samples: dict[str, Games] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """The number of games of the settings; some sections play more or fewer."""
        assert self.settings.games is not None
        return self.settings.games

    @property
    def strongest(self) -> Games:
        """Games of the strongest players."""
        return list(self.samples.values())[-1]

    @property
    def weakest(self) -> Games:
        """Random games."""
        return next(iter(self.samples.values()))

    @property
    def trained(self) -> NetworkSpec | None:
        """The agent if it is a `NetworkSpec` (``level:`` and ``endgame:`` are none), else None."""
        return self.agent if isinstance(self.agent, NetworkSpec) else None

    @property
    def searches(self) -> tuple[UCTSpec, UCTSpec]:
        """The weak and the strong search."""
        weak, strong = self.settings.playouts
        return UCTSpec(playouts=weak), UCTSpec(playouts=strong)

    @property
    def strong_player(self) -> AgentSpec:
        """The strongest available player."""
        return self.agent or self.searches[1]

    @property
    def strong_name(self) -> str:
        """The report's name for the strongest player: ``trained`` if it is a `NetworkSpec`."""
        return TRAINED if self.trained else self.strong_player.label

    @property
    def varied_player(self) -> AgentSpec:
        """The strongest player, with settings under which its games vary.

        A `NetworkSpec` then draws its moves, mostly good ones; others break ties at random, or vary
        in their own way.
        """
        return self.trained.drawing(VARIETY) if self.trained else self.strong_player

    def seed(self, *places: int) -> int:
        """A separate seed for each place in the report."""
        sequence = np.random.SeedSequence([self.settings.seed, *places])
        return int(sequence.generate_state(1)[0])

    def match(
        self, title: str, first: Agent, second: Agent, games: int, seed: int, opening: int | None
    ) -> Games:
        """Play a match after ``opening`` random plies; None draws 0 to 3 for each opening."""
        self.progress.begin(title, games)
        return play_match(self.game, first, second, games, seed, opening, self.progress)

    def play_equals(self, name: str, spec: AgentSpec, games: int, seed: int) -> Games:
        """Play games of a player against itself, without random openings."""
        one, other = (spec.make(self.game, seed + number) for number in (0, 1))
        played = self.match(f"{name} against itself", one, other, games, seed, 0)
        return replace(played, players=(name, name))


def begin_study(game: Game, settings: ReportSettings, progress: Progress = SILENT) -> Study:
    """Play the games between equals on which most sections of a report are based.

    Raises:
        ValueError, FileNotFoundError, ImportError: the agent cannot be made, see `make_agent`.
        StoppedError: ``progress`` was stopped.
    """
    few = random_games(game, 100, settings.seed)
    settings = settings.for_plies(float(few.plies.mean()))
    agent = trained_agent(game) if settings.agent is None else read_agent(settings.agent)
    positions = enumerate_positions(game, settings.positions)
    exact = exact_evaluator(game, positions)
    trained = None if agent is None else agent.make(game, seed=0)
    if isinstance(trained, NetworkAgent):
        estimator = searched_values(trained.policy, f"the network of {trained.name}")
    else:
        estimator = playout_values(game, settings.value_playouts, settings.seed)
    study = Study(
        game=game,
        settings=settings,
        progress=progress,
        agent=agent,
        positions=positions,
        exact=exact,
        evaluator=exact or estimator,
    )
    study.samples["random"] = random_games(game, 10 * study.games, study.seed(0))
    for number, spec in enumerate(study.searches, 1):
        games = study.games if number == 1 else max(4, study.games // 4 * 2)
        name = spec.label
        study.samples[name] = study.play_equals(name, spec, games, study.seed(number))
    if agent is not None:
        study.samples[study.strong_name] = study.play_equals(
            study.strong_name, study.varied_player, study.games, study.seed(3)
        )
    return study


def trained_agent(game: Game) -> ShippedSpec | None:
    """The shipped agent trained with these options (the swap rule apart), if any."""
    path = shipped_agent(game.name, game.options)
    if path is None:
        return None
    trained = learnt_options(load_header(path), game.options)
    own = {name: value for name, value in game.options.items() if name != SWAP_OPTION}
    learnt_all = all(trained.get(name) == own[name] for name in own)
    return ShippedSpec(game=game.name) if learnt_all else None
