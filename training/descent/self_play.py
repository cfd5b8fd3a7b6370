"""Self-play by Descent on all cores: groups of games, which threads advance in turns.

One step of a group evaluates the children that its games wait for, then runs the compiled games
until as many wait as there is room for. The games of a group depend on its seed only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ludarium.configs.schema import DescentSelfPlay as SelfPlayConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.training.search import Evaluator, join_results
from ludarium.training.search.cache import empty, set_request
from ludarium.training.turns import GroupedPlay, share_of_group

from .kernels import self_play as kernels
from .kernels.self_play import ENDED, EXPANSIONS, PLIES, POSITIONS, Games, Log
from .minimax import EVALUATIONS, HITS, ROWS
from .samples import sample_dtype
from .search import new_requests
from .settings import MinimaxSettings
from .tree import new_tree

_MOVES_KEPT = 4  # a tree has room for the expansions of so many moves


@dataclass(frozen=True)
class DescentResult:
    """The result of one iteration of self-play.

    Attributes:
        samples: structured array (`samples.sample_dtype`), positions that the games left behind.
        games: games ended.
        plies: plies of these games, openings included.
        expansions: positions expanded.
        evaluations: positions that the network evaluated.
        hits: evaluations that came from the cache.
    """

    samples: np.ndarray
    games: int = 0
    plies: int = 0
    expansions: int = 0
    evaluations: int = 0
    hits: int = 0


def tree_room(game: Game, config: SelfPlayConfig) -> int:
    """Expanded positions that one game's tree has room for: some moves', and a line to the end."""
    return _MOVES_KEPT * config.most_expansions + game.max_plies


class Group:
    """Games played in parallel; what they ask the network is one batch.

    `begin` a chunk, `step` until it `is_full`, `collect`.

    Args:
        game: the rules.
        config: games in parallel, positions to record per iteration, random plies that games
            start with, and megabytes for the network's answers, all of this group alone.
        seed: of the games.
    """

    def __init__(self, game: Game, config: SelfPlayConfig, seed: np.random.SeedSequence) -> None:
        room = tree_room(game, config)
        self.game = game
        self.kernels = specialise(kernels, game.rules)
        self.settings = MinimaxSettings()
        self.is_full = False
        tree = new_tree(game, config.games, room)
        self.observations, requests = new_requests(game, config.batch, config.cache)
        self.games = Games(
            tree=tree,
            requests=requests,
            log=_new_log(game, config.positions + room),
            rngs=seed_rng(seed, config.games),
            opening_plies=config.opening_plies,
            positions=config.positions,
            numbers=np.zeros(tree.nodes.shape[1], np.int32),
            passed=np.zeros(game.num_actions, np.int8),
        )
        self.kernels.begin_games(game.tables, self.games)

    @property
    def positions(self) -> int:
        """Positions recorded so far in this iteration."""
        return int(self.games.log.counts[POSITIONS])

    def begin(self, settings: MinimaxSettings) -> None:
        """Begin a chunk; unfinished games continue, and the cache starts empty."""
        self.settings = settings
        self.games.log.counts[:] = 0
        self.games.requests.counts[[EVALUATIONS, HITS]] = 0
        empty(self.games.requests.cache)
        self.is_full = False

    def step(self, evaluate: Evaluator) -> None:
        """Evaluate the waiting children, and play on until the games wait again."""
        waiting = int(self.games.requests.counts[ROWS])
        scores, values = np.zeros((0, 1), np.float32), np.zeros(0, np.float32)
        if waiting:
            scores, values = evaluate(self.observations[:waiting])
        self.is_full = self.kernels.play_on(
            self.game.tables, self.games, self.settings, self.game.max_score, scores, values
        )

    def collect(self) -> DescentResult:
        """End the iteration: return what the games have left behind in it."""
        log, asked, count = self.games.log, self.games.requests.counts, self.positions
        samples = np.zeros(count, sample_dtype(self.game))
        samples["state"] = log.states[:count]
        samples["value"] = log.values[:count]
        samples["score"] = log.scores[:count]
        samples["resolved"] = log.resolved[:count]
        return DescentResult(
            samples=samples,
            games=int(log.counts[ENDED]),
            plies=int(log.counts[PLIES]),
            expansions=int(log.counts[EXPANSIONS]),
            evaluations=int(asked[EVALUATIONS]),
            hits=int(asked[HITS]),
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly here, between iterations."""
        requests = self.games.requests
        return {f"tree.{name}": array for name, array in self.games.tree._asdict().items()} | {
            "rngs": self.games.rngs,
            "observations": self.observations,
            "searches": requests.searches,
            "nodes": requests.nodes,
            "counts": requests.counts,
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load what `state` returned.

        Raises:
            ValueError: the state is of another game or other settings.
        """
        for name, array in self.state().items():
            if array.shape != arrays[name].shape or array.dtype != arrays[name].dtype:
                raise ValueError(f"the saved self-play does not fit this run: {name}")
        for name, array in self.state().items():
            array[...] = arrays[name]
        requests = self.games.requests
        for row in range(int(requests.counts[ROWS])):
            set_request(requests.cache, row)


def _new_log(game: Game, positions: int) -> Log:
    """Allocate the log of an iteration of this many positions."""
    return Log(
        states=np.zeros(positions, game.state_dtype),
        values=np.zeros(positions, np.float32),
        scores=np.zeros(positions, np.float32),
        resolved=np.zeros(positions, np.int8),
        counts=np.zeros(4, np.int64),
    )


class SelfPlay(GroupedPlay[Group]):
    """Groups of games, advanced in turns; see `GroupedPlay`.

    Args:
        game: the rules.
        config: games and positions in all, which the groups share evenly; the batch of each.
        threads: number of groups that are advanced at the same time.
        seed: of the games.
    """

    def __init__(
        self, game: Game, config: SelfPlayConfig, threads: int, seed: np.random.SeedSequence
    ) -> None:
        share = share_of_group(config, threads)
        super().__init__(lambda own: Group(game, share, own), threads, seed)

    def play(
        self,
        settings: MinimaxSettings,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
    ) -> DescentResult:
        """Play an iteration in every group; their samples are in the groups' order."""
        for group in self.groups:
            group.begin(settings)
        self.take_turns(evaluate, progress)
        return join_results([group.collect() for group in self.groups])
