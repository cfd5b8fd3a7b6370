"""What a training configuration may say. Every key has a default but the game.

`TrainingConfig` is what all algorithms share; each has a class with its own sections. Every number
has a range, wide enough for all that makes sense: what is outside is a mistake, or an attack.
Whether a machine can do it is another question: `ludarium.training.runs.resources`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

_MOST_ANCHORS = 50
_MOST_STEPS_OF_A_SCHEDULE = 100
_MOST_SIMULATIONS = 10_000


def whole(low: int, high: int) -> BeforeValidator:
    """Accepts the integers from ``low`` to ``high``, and neither booleans nor texts."""

    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _refusal(f"an integer from {low:,} to {high:,}")
        return value

    return BeforeValidator(check)


def real(low: float, high: float, above: bool = False) -> BeforeValidator:
    """Accepts the numbers from ``low`` to ``high``, without ``low`` itself if ``above``.

    As a text too, for YAML takes ``1e-3`` for one.
    """

    def check(value: Any) -> float:
        number = _as_number(value)
        if number is None or not low <= number <= high or (above and number == low):
            begin = f"above {low:g}, up to" if above else f"from {low:g} to"
            raise _refusal(f"a number {begin} {high:,g}")
        return number

    return BeforeValidator(check)


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _schedule(value: Any) -> Any:
    """Simulations: a number, or pairs that begin at share 0 and ascend."""
    if type(value) is int and 1 <= value <= _MOST_SIMULATIONS:
        return value
    pairs = value if isinstance(value, list | tuple) else []
    shares = []
    for pair in pairs[:_MOST_STEPS_OF_A_SCHEDULE]:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            break
        share, count = _as_number(pair[0]), pair[1]
        if share is None or type(count) is not int or not 1 <= count <= _MOST_SIMULATIONS:
            break
        shares.append(share)
    in_order = shares and shares[0] == 0 and shares == sorted(set(shares)) and shares[-1] <= 1
    if not in_order or len(shares) != len(pairs):
        raise _refusal(
            f"an integer from 1 to {_MOST_SIMULATIONS:,}, or a list of up to "
            f"{_MOST_STEPS_OF_A_SCHEDULE} pairs [share of the run, simulations] that starts at "
            "share 0 and ascends"
        )
    return value


def _opponents(value: Any) -> Any:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not 1 <= len(names) <= _MOST_ANCHORS
        or not all(isinstance(name, str) and 1 <= len(name) <= _MOST_TEXT for name in names)
    ):
        raise _refusal(f"an agent's name, or a list of 1 to {_MOST_ANCHORS} of them")
    return value


def _refusal(accepted: str) -> PydanticCustomError:
    return PydanticCustomError("out_of_range", "accepted: {accepted}", {"accepted": accepted})


_MOST_TEXT = 1000
Text = Annotated[str, Field(max_length=_MOST_TEXT)]
Count = Annotated[int, whole(0, 10_000_000)]
Games = Annotated[int, whole(1, 65_536)]
Batch = Annotated[int, whole(1, 65_536)]
Plies = Annotated[int, whole(0, 1_000_000)]
OpeningPlies = Annotated[int, whole(0, 200)]
Simulations = Annotated[int, whole(0, _MOST_SIMULATIONS)]
Fraction = Annotated[float, real(0, 1)]
Weight = Annotated[float, real(0, 100)]
LearningRate = Annotated[float, real(0, 0.1, above=True)]
ReplayRatio = Annotated[float, real(0.001, 1000)]


class Section(BaseModel):
    """Unknown keys are errors, so that a misspelt one is not silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Section):
    """When the run ends: after so many iterations, or so many minutes if that comes first."""

    iterations: Annotated[int, whole(1, 10_000_000)] = 100
    minutes: Annotated[float, real(0, 1_000_000, above=True)] | None = None


class Network(Section):
    """The network: a residual one by size (default: ``small``), or one of the user's own.

    ``size`` is a name, or ``channels`` and ``blocks`` are numbers. What the names mean depends on
    the game's observations: `ludarium.models.network.SIZES`.

    ``module: "package.module:Class"`` is a class of one's own, see ``docs/own-network.md``. All
    other keys are then its keyword arguments, and are kept as ``options``.
    """

    size: Literal["tiny", "small", "base"] | None = None
    channels: Annotated[int, whole(1, 4096)] | None = None
    blocks: Annotated[int, whole(0, 256)] | None = None
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

    ``temperature_plies``: from this ply of a game on the best action found is played, without
    ``temperature`` or root noise in the choice; none: never.

    ``resign``: lost games are given up, so early that up to this share of those who resign would
    not have lost; none: every game is played to the end. ``resign_disabled_fraction``: share of
    the games that are played to the end all the same, to find out.
    """

    games: Games = 256
    positions: Annotated[int, whole(1, 10_000_000)] = 8192
    workers: Annotated[int, whole(1, 1024)] | None = None
    algorithm: Literal["gumbel", "puct"] = "gumbel"
    simulations: Annotated[int | list[tuple[float, int]], BeforeValidator(_schedule)] = 32
    max_considered: Annotated[int, whole(2, 1000)] = 16
    noise: Annotated[float, real(0, 10)] | None = None
    value_scale: Annotated[float, real(0, 100, above=True)] = 0.1
    maxvisit_init: Annotated[float, real(0, 10_000)] = 50.0
    rescale_values: bool = True
    c_puct: Annotated[float, real(0, 100, above=True)] = 1.5
    dirichlet_alpha: Annotated[float, real(0.001, 1000)] = 0.3
    temperature: Annotated[float, real(0, 100)] = 1.0
    prove: bool = True
    opening_plies: OpeningPlies = 4
    cache: Annotated[float, real(0, 1_000_000)] = 64.0
    temperature_plies: Plies | None = None
    resign: Annotated[float, real(0.0001, 0.9999)] | None = None
    resign_disabled_fraction: Annotated[float, real(0.0001, 0.9999)] = 0.1

    @model_validator(mode="after")
    def _check(self) -> SelfPlay:
        if self.algorithm == "puct" and self.noise is not None and self.noise > 1:
            raise ValueError(f"noise: {self.noise:g} is more than 1, all of the root's prior")
        return self

    def simulations_at(self, progress: float) -> int:
        """Simulations for each move when ``progress`` of the run is over."""
        if isinstance(self.simulations, int):
            return self.simulations
        return [count for start, count in self.simulations if start <= progress][-1]

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
    playouts: Annotated[int, whole(1, 1_000_000)] = 400
    replay_ratio: ReplayRatio = 4.0


class Replay(Section):
    """Positions that are learnt from: the latest ones, ``first`` at the start, ``last`` later.

    The window grows with the share of the run that is over.
    """

    first: Annotated[int, whole(1, 1_000_000_000)] = 50_000
    last: Annotated[int, whole(1, 1_000_000_000)] = 300_000


class Learner(Section):
    """How the network learns.

    ``replay_ratio``: how often each new position is learnt from, on average. ``search_value``:
    share of the search's value in the value target; the rest is the game's outcome.
    ``ema_decay``: of the exponential moving average of the weights, the network that plays.

    ``ownership_weight``: above 0 the network also learns who will own each cell at the end of the
    game, for Corso and Obsidio. What it learns for that is not kept in the agent.
    """

    batch: Batch = 512
    replay_ratio: ReplayRatio = 4.0
    learning_rate: LearningRate = 2e-3
    final_learning_rate: LearningRate = 1e-4
    warmup_steps: Count = 100
    weight_decay: Annotated[float, real(0, 1)] = 1e-4
    gradient_clip: Annotated[float, real(0, 1000, above=True)] = 4.0
    search_value: Fraction = 0.5
    value_weight: Weight = 1.0
    score_weight: Weight = 0.5
    ownership_weight: Weight = 0.0
    ema_decay: Fraction = 0.995


class Gate(Section):
    """A match that new weights must win before they play; ``games`` 0: they always play.

    The EMA network replaces the one that plays if it scores at least ``score`` against it in
    so many games, with ``simulations`` for each move (Silver et al., "Mastering the game of Go
    without human knowledge", 2017).
    """

    games: Annotated[int, whole(0, 10_000), Field(multiple_of=2)] = 0
    simulations: Simulations = 32
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
    against: Annotated[str | list[str], BeforeValidator(_opponents)] = "uct:200"
    ratings: Text | None = None
    games: Annotated[int, whole(2, 10_000), Field(multiple_of=2)] = 40
    simulations: Simulations = 32


class Rollout(Section):
    """What PPO plays before each phase of learning.

    ``games`` side by side, ``steps`` actions of the learner in each. ``opening_plies``: each
    game starts with 0 to so many random plies. ``symmetries``: the network sees each position
    in a random symmetry of the game.
    """

    games: Games = 256
    steps: Annotated[int, whole(1, 65_536)] = 32
    opening_plies: OpeningPlies = 4
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
    pool: Annotated[int, whole(1, 1000)] = 12
    every: Annotated[int, whole(1, 10_000_000)] = 10
    active: Annotated[int, whole(1, 1000)] = 2
    weighting: Literal["hard", "even", "uniform"] = "hard"
    power: Annotated[float, real(0, 100, above=True)] = 2.0


class PPOLearner(Section):
    """How PPO learns; Stable-Baselines3's names and meanings where it has them.

    Learning rate and ``entropy`` (its weight) go from the first to the final value in a
    straight line. ``epochs``: how often each step is learnt from. ``target_kl`` ends the
    learning of an iteration early; none: never.
    """

    batch: Annotated[int, whole(2, 65_536)] = 256
    epochs: Annotated[int, whole(1, 1000)] = 1
    learning_rate: LearningRate = 1.5e-3
    final_learning_rate: LearningRate = 1e-4
    clip: Annotated[float, real(0, 1, above=True)] = 0.2
    gamma: Annotated[float, real(0, 1, above=True)] = 1.0
    gae_lambda: Fraction = 0.95
    entropy: Annotated[float, real(0, 10)] = 0.02
    final_entropy: Annotated[float, real(0, 10)] = 0.002
    value_weight: Weight = 0.5
    gradient_clip: Annotated[float, real(0, 1000, above=True)] = 0.5
    target_kl: Annotated[float, real(0, 1000, above=True)] | None = None


class TrainingConfig(Section):
    """One training run: what every algorithm has."""

    game: Text
    options: dict[Text, Any] = {}
    algorithm: Text
    seed: Annotated[int, whole(0, 2**64 - 1)] = 1
    device: Text = "auto"
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

    @model_validator(mode="after")
    def _check(self) -> PPOConfig:
        steps, batch = self.rollout.games * self.rollout.steps, self.learner.batch
        if steps % batch == 1:
            raise ValueError(
                f"learner.batch: {batch} leaves a batch of one of the {steps:,} steps of an "
                "iteration (rollout.games x rollout.steps), whose advantage cannot be normalised"
            )
        return self


#: The configuration of each algorithm.
ALGORITHMS: dict[str, type[TrainingConfig]] = {"alphazero": AlphaZeroConfig, "ppo": PPOConfig}
