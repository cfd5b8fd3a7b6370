"""What a training configuration may say. Every key has a default but the game.

`TrainingConfig` is what all algorithms share; each has a class with its own sections.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """Unknown keys are errors, so that a misspelt one is not silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Section):
    """When the run ends: after so many iterations, or so many minutes if that comes first."""

    iterations: Positive = 100
    minutes: Annotated[float, Field(gt=0)] | None = None


class Network(Section):
    """The network: a residual one by size (default: ``small``), or one of the user's own.

    ``size`` is a name, or ``channels`` and ``blocks`` are numbers. What the names mean depends on
    the game's observations: `ludarium.models.network.SIZES`.

    ``module: "package.module:Class"`` is a class of one's own, see ``docs/own-network.md``. All
    other keys are then its keyword arguments, and are kept as ``options``.
    """

    size: Literal["tiny", "small", "base"] | None = None
    channels: Positive | None = None
    blocks: Count | None = None
    module: Annotated[str, Field(max_length=300)] | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if value is not None and value != {}}
        if not given:
            return {"size": "small"}
        options = data.get("options") or {}
        if given.get("module") is None or not isinstance(options, dict):
            return data
        own = {key: value for key, value in data.items() if key not in cls.model_fields}
        own |= {key: given[key] for key in ("size", "channels", "blocks") if key in given}
        return {"module": data["module"], "options": options | own}

    @model_validator(mode="after")
    def _check(self) -> Network:
        if self.module is not None:
            return self
        if self.options:
            raise ValueError("options are for a network of one's own: give module too")
        numbers = (self.channels, self.blocks)
        if self.size is not None and numbers != (None, None):
            raise ValueError(
                "give either size or channels and blocks, not both; to change from one to the "
                'other replace the whole section, as in --set "network={size: small}"'
            )
        if self.size is None and None in numbers:
            raise ValueError("channels and blocks go together: give both, or size instead")
        return self


class SelfPlay(Section):
    """How games are played to learn from.

    ``games`` are those side by side. ``workers``: cores to use; none: all, or on a GPU as many as
    leave it batches of 64. The games are played in one group more than there are workers (a
    single worker has one group), and a group is a batch for the network.

    ``simulations`` is a number, or a schedule of [share of the run, simulations] pairs.
    ``opening_plies``: each game starts with 0 to so many random plies. ``cache``: megabytes, of
    all groups together, for answers of the network that are needed again in the same
    iteration; 0 for none.

    ``full_search_fraction``: of the moves. The others get only ``fast_simulations``, without
    root noise, and are not learnt from; ``positions`` are those that are.
    ``temperature_plies``: from this ply of a game on the best action found is played, without
    ``temperature`` or root noise in the choice; none: never.

    ``resign``: lost games are given up, so early that up to this share of those who resign would
    not have lost; none: every game is played to the end. ``resign_disabled_fraction``: share of
    the games that are played to the end all the same, to find out.
    """

    games: Positive = 256
    positions: Positive = 8192
    workers: Positive | None = None
    algorithm: Literal["gumbel", "puct"] = "gumbel"
    simulations: Positive | list[tuple[Fraction, Positive]] = 32
    max_considered: Annotated[int, Field(ge=2)] = 16
    noise: Annotated[float, Field(ge=0)] | None = None
    value_scale: Annotated[float, Field(gt=0)] = 0.1
    maxvisit_init: Annotated[float, Field(ge=0)] = 50.0
    rescale_values: bool = True
    c_puct: Annotated[float, Field(gt=0)] = 1.5
    dirichlet_alpha: Annotated[float, Field(gt=0)] = 0.3
    temperature: Annotated[float, Field(ge=0)] = 1.0
    prove: bool = True
    opening_plies: Count = 4
    cache: Annotated[float, Field(ge=0)] = 64.0
    full_search_fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    fast_simulations: Positive = 8
    temperature_plies: Count | None = None
    resign: Annotated[float, Field(gt=0, lt=1)] | None = None
    resign_disabled_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1

    @model_validator(mode="after")
    def _check(self) -> SelfPlay:
        if isinstance(self.simulations, list):
            shares = [share for share, _ in self.simulations]
            if not shares or shares[0] != 0 or shares != sorted(set(shares)):
                raise ValueError("simulations: a schedule starts at share 0 and ascends")
        if self.full_search_fraction < 1 and self.fast_simulations > self.fewest_simulations:
            raise ValueError(
                f"fast_simulations: {self.fast_simulations} are more than the "
                f"{self.fewest_simulations} of a full search; give fewer, or "
                "full_search_fraction: 1"
            )
        return self

    def simulations_at(self, progress: float) -> int:
        """Simulations for each move when ``progress`` of the run is over."""
        if isinstance(self.simulations, int):
            return self.simulations
        return [count for start, count in self.simulations if start <= progress][-1]

    @property
    def fewest_simulations(self) -> int:
        """The smallest number in the schedule."""
        if isinstance(self.simulations, int):
            return self.simulations
        return min(count for _, count in self.simulations)

    @property
    def most_simulations(self) -> int:
        """The largest number in the schedule."""
        if isinstance(self.simulations, int):
            return self.simulations
        return max(count for _, count in self.simulations)


class Bootstrap(Section):
    """First games from tree search with random playouts, which an untrained network is worse than.

    ``positions``: how many to learn from before the network plays; 0 for none.
    """

    positions: Count = 0
    playouts: Positive = 400
    replay_ratio: Annotated[float, Field(gt=0)] = 4.0


class Replay(Section):
    """Positions that are learnt from: the latest ones, ``first`` at the start, ``last`` later.

    The window grows with the share of the run that is over.
    """

    first: Positive = 50_000
    last: Positive = 300_000


class Learner(Section):
    """How the network learns.

    ``replay_ratio``: how often each new position is learnt from, on average. ``search_value``:
    share of the search's value in the value target; the rest is the game's outcome.
    ``ema_decay``: of the exponential moving average of the weights, the network that plays.

    ``ownership_weight``: above 0 the network also learns who will own each cell at the end of the
    game, for Corso and Obsidio. What it learns for that is not kept in the agent.
    """

    batch: Positive = 512
    replay_ratio: Annotated[float, Field(gt=0)] = 4.0
    learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    final_learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    warmup_steps: Count = 100
    weight_decay: Annotated[float, Field(ge=0)] = 1e-4
    gradient_clip: Annotated[float, Field(gt=0)] = 4.0
    search_value: Fraction = 0.5
    value_weight: Annotated[float, Field(ge=0)] = 1.0
    score_weight: Annotated[float, Field(ge=0)] = 0.5
    ownership_weight: Annotated[float, Field(ge=0)] = 0.0
    ema_decay: Fraction = 0.995


class Gate(Section):
    """A match that new weights must win before they play; ``games`` 0: they always play.

    The EMA network replaces the one that plays if it scores at least ``score`` against it in
    so many games, with ``simulations`` for each move (Silver et al., "Mastering the game of Go
    without human knowledge", 2017).
    """

    games: Annotated[int, Field(ge=0, multiple_of=2)] = 0
    simulations: Count = 32
    score: Fraction = 0.55


class Evaluation(Section):
    """Games against fixed opponents while training; ``every`` 0 plays none.

    ``against`` one opponent: a score. Against a list of them, the weakest first: an Elo rating,
    from games against those that tell most; ``games`` in all. ``ratings``: a file written by
    ``ludarium rate``, instead of the ratings that come along; those that neither has are measured
    when the run starts. ``simulations`` of the agent for each move; 0 plays the network's
    favourite, without search.
    """

    every: Count = 10
    against: str | Annotated[list[str], Field(min_length=1)] = "uct:200"
    ratings: str | None = None
    games: Annotated[int, Field(ge=2, multiple_of=2)] = 40
    simulations: Count = 32


class Rollout(Section):
    """What PPO plays before each phase of learning.

    ``games`` side by side, ``steps`` actions of the learner in each. ``opening_plies``: each
    game starts with 0 to so many random plies. ``symmetries``: the network sees each position
    in a random symmetry of the game.
    """

    games: Positive = 256
    steps: Positive = 32
    opening_plies: Count = 4
    symmetries: bool = True


class Opponents(Section):
    """Whom PPO plays against: its current self, and past selves by prioritised fictitious play.

    ``current``: share of the games against the current self. Every ``every`` iterations the
    network joins the pool of past selves, which keeps the latest ``pool``; in each iteration
    ``active`` of them, drawn by weight, are met in new games. ``weighting`` by the learner's
    expected score s against them: ``hard`` (1 - s) ^ ``power``, ``even`` s (1 - s),
    or ``uniform``.
    """

    current: Fraction = 0.5
    pool: Positive = 12
    every: Positive = 10
    active: Positive = 2
    weighting: Literal["hard", "even", "uniform"] = "hard"
    power: Annotated[float, Field(gt=0)] = 2.0


class PPOLearner(Section):
    """How PPO learns; Stable-Baselines3's names and meanings where it has them.

    Learning rate and ``entropy`` (its weight) go from the first to the final value in a
    straight line. ``epochs``: how often each step is learnt from. ``target_kl`` ends the
    learning of an iteration early; none: never.
    """

    batch: Positive = 256
    epochs: Positive = 1
    learning_rate: Annotated[float, Field(gt=0)] = 1.5e-3
    final_learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    clip: Annotated[float, Field(gt=0)] = 0.2
    gamma: Annotated[float, Field(gt=0, le=1)] = 1.0
    gae_lambda: Fraction = 0.95
    entropy: Annotated[float, Field(ge=0)] = 0.02
    final_entropy: Annotated[float, Field(ge=0)] = 0.002
    value_weight: Annotated[float, Field(ge=0)] = 0.5
    gradient_clip: Annotated[float, Field(gt=0)] = 0.5
    target_kl: Annotated[float, Field(gt=0)] | None = None


class TrainingConfig(Section):
    """One training run: what every algorithm has."""

    game: str
    options: dict[str, Any] = {}
    algorithm: str
    seed: Count = 1
    device: str = "auto"
    budget: Budget = Budget()
    network: Network = Network()
    evaluation: Evaluation = Evaluation()


class AlphaZeroConfig(TrainingConfig):
    """A run of `ludarium.training.alphazero`."""

    algorithm: Literal["alphazero"] = "alphazero"
    backend: Literal["auto", "eager", "onnx", "graph-fp16", "onnx-int8"] = "auto"
    self_play: SelfPlay = SelfPlay()
    bootstrap: Bootstrap = Bootstrap()
    replay: Replay = Replay()
    learner: Learner = Learner()
    gate: Gate = Gate()


class PPOConfig(TrainingConfig):
    """A run of `ludarium.training.ppo`."""

    algorithm: Literal["ppo"] = "ppo"
    rollout: Rollout = Rollout()
    opponents: Opponents = Opponents()
    learner: PPOLearner = PPOLearner()


#: The configuration of each algorithm.
ALGORITHMS: dict[str, type[TrainingConfig]] = {"alphazero": AlphaZeroConfig, "ppo": PPOConfig}
