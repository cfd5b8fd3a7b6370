"""Schema of the training configurations. Only ``game`` is required; every other key has a default.

`TrainingConfig` holds the keys that all algorithms share; each algorithm has a subclass with its
own sections. Every number has a range wide enough for all sensible values, so that a value outside
it is a mistake or an attack. `ludarium.training.runs.resources` checks whether the machine at hand
can run the configuration.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

_MOST_ANCHORS = 50
_MOST_STEPS_OF_A_SCHEDULE = 100
_MOST_SIMULATIONS = 10_000
_MOST_VARIANTS = 100


def whole(low: int, high: int) -> BeforeValidator:
    """Accepts the integers from ``low`` to ``high``, and neither booleans nor texts."""

    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _refusal(f"an integer from {low:,} to {high:,}")
        return value

    return BeforeValidator(check)


def real(low: float, high: float, above: bool = False) -> BeforeValidator:
    """Accept the numbers from ``low`` to ``high``; ``above`` excludes ``low`` itself.

    Also accepts a number as text, because YAML reads ``1e-3`` as text.
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
    """Check a number of simulations, or a list of [progress, simulations] pairs."""
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
Schedule = Annotated[int | list[tuple[float, int]], BeforeValidator(_schedule)]


Backend = Literal["auto", "eager", "onnx", "graph-fp16", "onnx-int8"]


class Section(BaseModel):
    """A section of a configuration.

    An unknown key is an error, so that a misspelt key does not silently fall back to its default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Section):
    """When the run ends: after ``iterations`` or ``minutes``, whichever is first.

    ``iterations``: how many of them. ``minutes``: of wall time, over all parts of the run; none: no
    limit.
    """

    iterations: Annotated[int, whole(1, 10_000_000)] = 100
    minutes: Annotated[float, real(0, 1_000_000, above=True)] | None = None


class Network(Section):
    """The network: a residual network by size (default: ``small``), or the user's own class.

    Give either ``size``, or ``channels`` and ``blocks``, or ``module``.

    ``size``: a name; `ludarium.models.network.SIZES` lists what it means for boards and for flat
    observations. ``channels``: width of each layer. ``blocks``: number of residual blocks.

    ``module``: the user's own class, as ``"package.module:Class"``, see
    ``docs/guide/own-network.md``; all other keys are then passed to it as keyword arguments.
    ``options``: where these are stored.
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
    """How self-play generates positions to learn from.

    ``games``: number of games played in parallel. ``positions``: positions that one iteration
    searches and records. ``workers``: CPU threads; none: one per core, or on a GPU only as many as
    keep every batch at 64 positions or more. The games are split into ``workers`` + 1 groups (one
    group if there is a single worker); each group is one batch for the network.

    ``simulations``: simulations per move, a number or a schedule of [progress, simulations] pairs,
    where progress runs from 0 to 1. ``opening_plies``: each game starts with a random number of
    random plies, from 0 to this. ``cache``: megabytes for the evaluation cache, all groups
    together; 0: no cache. ``prove``: back up exact values from finished positions, and look for
    wins at once in new ones.

    ``algorithm``: ``gumbel`` (Danihelka et al. 2022) or ``puct`` (Silver et al. 2017).
    ``max_considered``: Gumbel: root actions that sequential halving begins with. ``noise``: Gumbel:
    scale of the noise at the root, none: 1; PUCT: share of Dirichlet noise in the root prior, none:
    0.25. ``value_scale``, ``maxvisit_init``, ``rescale_values``: Gumbel: how the values of actions
    become logits, as in mctx. ``c_puct``: PUCT: weight of exploration. ``dirichlet_alpha``: PUCT:
    concentration of the noise. ``temperature``: PUCT: the move is drawn from the visits to the
    power of its inverse; 0: the most visited.

    ``temperature_plies``: from this ply on, self-play plays the best action found and does not use
    ``temperature`` or root noise in the final choice; none: never.

    ``solve``: exact targets: from the end of each game backwards, positions are searched to the end
    of the game, each within so many positions; solved ones teach their exact value, and the set of
    the actions that keep it; 0: none. ``keep_decided``: share of the solved positions in which all
    actions are worth the same that is learnt from; their values count so much the more.
    """

    games: Games = 256
    positions: Annotated[int, whole(1, 10_000_000)] = 8192
    workers: Annotated[int, whole(1, 1024)] | None = None
    algorithm: Literal["gumbel", "puct"] = "gumbel"
    simulations: Schedule = 32
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
    solve: Annotated[int, whole(0, 1_000_000_000)] = 0
    keep_decided: Annotated[float, real(0.01, 1)] = 1.0

    @model_validator(mode="after")
    def _check(self) -> SelfPlay:
        if self.algorithm == "puct" and self.noise is not None and self.noise > 1:
            raise ValueError(f"noise: {self.noise:g} is more than 1, all of the root's prior")
        return self

    def simulations_at(self, progress: float) -> int:
        """Simulations per move at ``progress`` (0 to 1) of the run."""
        if isinstance(self.simulations, int):
            return self.simulations
        return [count for start, count in self.simulations if start <= progress][-1]

    @property
    def most_simulations(self) -> int:
        """The largest number of simulations in the schedule."""
        if isinstance(self.simulations, int):
            return self.simulations
        return max(count for _, count in self.simulations)


class Bootstrap(Section):
    """Positions for the first iteration, from UCT with random playouts instead of the network.

    An untrained network plays worse than random playouts and costs more. ``positions``: how many
    positions to generate; 0: no bootstrap. ``playouts``: playouts per move. ``replay_ratio``: as in
    `Learner`, for this first iteration.
    """

    positions: Count = 0
    playouts: Annotated[int, whole(1, 1_000_000)] = 400
    replay_ratio: ReplayRatio = 4.0


class Replay(Section):
    """The replay buffer: the latest positions, from which the learner samples its batches.

    ``first``: how many positions it keeps at the start of the run. ``last``: how many at the end;
    in between the number grows linearly with the progress of the run.
    """

    first: Annotated[int, whole(1, 1_000_000_000)] = 50_000
    last: Annotated[int, whole(1, 1_000_000_000)] = 300_000


class Learner(Section):
    """How the network learns.

    ``batch``: positions in a gradient step. ``replay_ratio``: how many times each new position is
    sampled, on average. ``learning_rate``, ``final_learning_rate``: at the start and the end of the
    run, with cosine decay between. ``warmup_steps``: gradient steps in which the learning rate
    rises from 0. ``weight_decay``: of AdamW. ``gradient_clip``: largest norm of the gradient.

    ``value_weight``, ``score_weight``: loss weights of the outcome and of the final score.
    ``ema_decay``: decay of the exponential moving average of the weights (EMA); the EMA network is
    the one that plays. ``search_value``: weight of the search's root value in the value target; the
    game's outcome has the rest.
    """

    batch: Batch = 512
    replay_ratio: ReplayRatio = 4.0
    learning_rate: LearningRate = 2e-3
    final_learning_rate: LearningRate = 1e-4
    warmup_steps: Count = 100
    weight_decay: Annotated[float, real(0, 1)] = 1e-4
    gradient_clip: Annotated[float, real(0, 1000, above=True)] = 4.0
    value_weight: Weight = 1.0
    score_weight: Weight = 0.5
    ema_decay: Fraction = 0.995
    search_value: Fraction = 0.5


class Evaluation(Section):
    """Matches against fixed opponents during training.

    ``every``: iterations between two evaluations; 0: no evaluation. ``against``: an opponent, then
    an evaluation measures a score; or a list of them, from the weakest to the strongest, then it
    measures an Elo rating against those nearest in strength; opponents without a shipped rating are
    rated when the run starts. ``games``: in all. ``simulations``: simulations per move of the
    agent; 0: the most probable action of the policy, without search.
    """

    every: Count = 10
    against: Annotated[str | list[str], BeforeValidator(_opponents)] = "uct:200"
    games: Annotated[int, whole(2, 10_000), Field(multiple_of=2)] = 40
    simulations: Simulations = 32


class Cluster(Section):
    """How ``ludarium train --cluster`` is spread over a Ray cluster, see ``docs/guide/cluster.md``.

    These keys say who computes, not what is learnt: they may change when a run is resumed, and
    without ``--cluster`` they have no effect.

    ``actors``: the most self-play actors; none: as many as there is room for. ``actor_cpus``: cores
    of an actor. ``actor_gpus``: its share of a GPU; none: on nodes with GPUs an actor has one GPU
    and its share of the cores, elsewhere actors have cores only. ``games``: games that an actor
    plays in parallel; none: 64 for each of its cores (1,024 on a GPU), at most ``self_play.games``.

    ``staleness``: how many versions the weights that an actor played with may be older than those
    that learn from its positions; older positions are dropped. With 1 the actors wait while the
    learner learns; with n they play up to n - 1 iterations ahead.
    """

    actors: Annotated[int, whole(1, 100_000)] | None = None
    actor_cpus: Annotated[int, whole(1, 1024)] = 1
    actor_gpus: Annotated[float, real(0, 64)] | None = None
    games: Games | None = None
    staleness: Annotated[int, whole(1, 1000)] = 2


class Variant(Section):
    """Options of the game that the network learns too, and how often they are played.

    ``options``: in place of those of the run. A list stands for each of its values, and several
    lists for all their combinations. ``share``: how many of the positions of self-play have these
    options, in proportion to the other variants' shares; divided evenly between combinations.
    """

    options: dict[Text, Any] = {}
    share: Annotated[float, real(0, 1000, above=True)] = 1.0

    def combinations(self) -> list[dict[str, Any]]:
        """Each set of options that ``options`` stands for."""
        return [dict(zip(self.options, each, strict=True)) for each in product(*self._values())]

    @property
    def count(self) -> int:
        """The number of `combinations`."""
        return prod(map(len, self._values()))

    def _values(self) -> list[list[Any]]:
        return [value if isinstance(value, list) else [value] for value in self.options.values()]


class Rollout(Section):
    """The games that PPO plays before each learning phase.

    ``games``: games played in parallel. ``steps``: actions of the learner in each game.
    ``opening_plies``: each game starts with a random number of random plies, from 0 to this.
    ``symmetries``: show the network each position in a random symmetry of the game.
    """

    games: Games = 256
    steps: Annotated[int, whole(1, 65_536)] = 32
    opening_plies: OpeningPlies = 4
    symmetries: bool = True


class Opponents(Section):
    """Opponents of the PPO learner: its current self and past selves.

    Past selves are drawn by prioritised fictitious self-play (Vinyals et al. 2019). ``current``:
    fraction of the games against the current self. ``every``: every so many iterations a copy of
    the network joins the pool of past selves. ``pool``: size of the pool; the oldest copy leaves.
    ``active``: number of past selves drawn in each iteration for its new games, each with a weight
    of (1 - s) squared, where s is the learner's expected score against it.
    """

    current: Fraction = 0.5
    pool: Annotated[int, whole(1, 1000)] = 12
    every: Annotated[int, whole(1, 10_000_000)] = 10
    active: Annotated[int, whole(1, 1000)] = 2


class PPOLearner(Section):
    """How PPO learns. Names and meanings are those of Stable-Baselines3 where it has them.

    ``batch``: steps in a minibatch. ``epochs``: passes over the steps of a rollout.
    ``learning_rate``, ``final_learning_rate``: at the start and the end of the run, linear between.
    ``clip``: of the probability ratio. ``gamma``: discount. ``gae_lambda``: of the generalised
    advantage estimate. ``entropy``, ``final_entropy``: weight of the entropy bonus at the start and
    the end of the run, linear between. ``value_weight``: loss weight of the value.
    ``gradient_clip``: largest norm of the gradient. ``target_kl``: KL divergence at which learning
    stops early in an iteration; none: never.
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
    """The keys that the configurations of all algorithms share.

    ``game``: name of the game. ``options``: its options; those left out have their defaults.
    ``algorithm``: ``alphazero`` or ``ppo``. ``seed``: of all randomness. ``device``:
    ``auto`` (a GPU if torch finds one), ``cpu``, ``cuda`` and so on.

    ``start``: a trained agent, whose weights the network begins with: a checkpoint, the folder of a
    run, or the name of a shipped agent; none: random weights.
    """

    game: Text
    options: dict[Text, Any] = {}
    algorithm: Text
    seed: Annotated[int, whole(0, 2**64 - 1)] = 1
    device: Text = "auto"
    budget: Budget = Budget()
    start: Text | None = None
    network: Network = Network()
    evaluation: Evaluation = Evaluation()


class AlphaZeroConfig(TrainingConfig):
    """Configuration of a run of `ludarium.training.alphazero`.

    ``backend``: what runs the network in self-play; ``auto`` measures them and takes the fastest.
    ``variants``: sets of the game's options that one network learns together; none: those of
    ``options`` alone. With variants, the agent is evaluated with ``options``.
    """

    algorithm: Literal["alphazero"] = "alphazero"
    backend: Backend = "auto"
    self_play: SelfPlay = SelfPlay()
    bootstrap: Bootstrap = Bootstrap()
    replay: Replay = Replay()
    learner: Learner = Learner()
    cluster: Cluster = Cluster()
    variants: Annotated[list[Variant], Field(max_length=_MOST_VARIANTS)] = []

    @model_validator(mode="after")
    def _check(self) -> AlphaZeroConfig:
        if not self.variants:
            return self
        combinations = sum(variant.count for variant in self.variants)
        if not 2 <= combinations <= _MOST_VARIANTS:
            raise ValueError(
                f"variants: {combinations:,} sets of options; accepted: 2 to {_MOST_VARIANTS}"
            )
        if self.network.module is not None:
            raise ValueError("network.module cannot be used with variants: leave one of them out")
        return self


class PPOConfig(TrainingConfig):
    """Configuration of a run of `ludarium.training.ppo`."""

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


#: The configuration class of each algorithm.
ALGORITHMS: dict[str, type[TrainingConfig]] = {
    "alphazero": AlphaZeroConfig,
    "ppo": PPOConfig,
}
