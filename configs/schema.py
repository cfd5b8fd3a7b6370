"""Schema of the training configurations. Only ``game`` is required; every other key has a default.

`TrainingConfig` holds the keys that all algorithms share; each algorithm has a subclass with its
own sections. Every number has a range wide enough for all sensible values, so that a value outside
it is a mistake or an attack. `ludarium.training.runs.resources` checks whether the machine at hand
can run the configuration.
"""

from __future__ import annotations

import math
from itertools import pairwise, product
from math import prod
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

_MOST_SIMULATIONS = 10_000
_MOST_OF_BOOTSTRAP = 1 / 3  #: share of ``budget.minutes``
_MOST_VARIANTS = 100

Text = Annotated[str, Meta(max_length=1000)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Count = Annotated[int, Meta(ge=0, le=10_000_000)]
Number = Annotated[int, Meta(ge=1, le=10_000_000)]
Games = Annotated[int, Meta(ge=1, le=65_536)]
BatchSize = Annotated[int, Meta(ge=1, le=65_536)]
Plies = Annotated[int, Meta(ge=0, le=1_000_000)]
OpeningPlies = Annotated[int, Meta(ge=0, le=100)]
Simulations = Annotated[int, Meta(ge=0, le=_MOST_SIMULATIONS)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=0, le=100)]
LearningRate = Annotated[float, Meta(gt=0, le=0.1)]
ReplayRatio = Annotated[float, Meta(ge=0.001, le=1000)]
#: A number of simulations, or a schedule of pairs [progress, simulations].
Schedule = (
    Annotated[int, Meta(ge=1, le=_MOST_SIMULATIONS)]
    | Annotated[
        list[tuple[Fraction, Annotated[int, Meta(ge=1, le=_MOST_SIMULATIONS)]]],
        Meta(min_length=1, max_length=100),
    ]
)


Backend = Literal["auto", "eager", "compiled", "graph-fp16", "compiled-int8"]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A section of a configuration.

    An unknown key is an error, so a misspelt key does not silently fall back to its default.
    """


class BudgetConfig(Section, frozen=True):
    """When the run ends: after ``iterations`` or ``minutes``, whichever is first.

    ``iterations``: how many iterations. ``minutes``: wall time, over all parts of the run; none: no
    limit.
    """

    iterations: Number = 100
    minutes: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None


class NetworkConfig(Section, frozen=True):
    """The network: a residual network by size (default: ``small``), or the user's own class.

    Give either ``size``, or ``channels`` and ``blocks``, or ``module``.

    ``size``: a name; `ludarium.models.network.SIZES` lists its meaning for boards and for flat
    observations. ``channels``: width of each layer. ``blocks``: number of residual blocks.

    ``module``: the user's own class, as ``"package.module:Class"``, see
    ``docs/guide/own-network.md``; all other keys are then passed to it as keyword arguments.
    ``options``: these arguments, as they are stored.
    """

    size: Literal["tiny", "small", "base"] | None = None
    channels: Annotated[int, Meta(ge=1, le=4096)] | None = None
    blocks: Annotated[int, Meta(ge=0, le=256)] | None = None
    module: Annotated[str, Meta(max_length=300)] | None = None
    options: dict[str, Any] = {}

    def __post_init__(self) -> None:
        numbers = (self.channels, self.blocks)
        if self.module is not None:
            return
        if self.options:
            raise ValueError("options are for a network of one's own: give module too")
        if self.size is not None and numbers != (None, None):
            raise ValueError(
                "give either size or channels and blocks, not both; to change from one to the "
                'other replace the whole section, as in --set "network={size: small}"'
            )
        if self.size is None and None in numbers:
            raise ValueError("channels and blocks go together: give both, or size instead")


class SelfPlayConfig(Section, frozen=True):
    """How self-play generates positions to learn from.

    ``positions``: positions that one iteration searches and records; games are played to their
    ends, so there may be a few more. ``workers``: CPU threads; none: one per core, or on a GPU only
    as many as keep every batch at 64 positions or more. ``games``: if the network is faster in
    batches (on a GPU, a custom network, a perceptron), games played in parallel, which the workers
    share; those of a worker are one batch, and unfinished ones continue in the next iteration. With
    any other network each worker plays one game at a time.

    ``simulations``: simulations per move, a number or a schedule of [progress, simulations] pairs,
    where progress runs from 0 to 1. ``opening_plies``: each game starts with a random number of
    random plies, from 0 to this. ``cache``: megabytes for the evaluation cache, all workers
    together; 0: no cache. ``prove``: back up exact values from finished positions, and look for
    wins at once in new ones.

    ``algorithm``: ``gumbel`` (Danihelka et al. 2022) or ``puct`` (Silver et al. 2017).
    ``max_considered``: Gumbel: root actions that sequential halving begins with. ``noise``: Gumbel:
    scale of the noise at the root, none: 1; PUCT: share of Dirichlet noise in the root prior, none:
    0.25. ``value_scale``, ``maxvisit_init``, ``rescale_values``: Gumbel: how the values of actions
    become logits, as in mctx. ``c_puct``: PUCT: weight of exploration. ``dirichlet_alpha``: PUCT:
    concentration of the noise. ``temperature``: PUCT: the move is drawn from the visits to the
    power of its inverse; 0: the most visited one.

    ``temperature_plies``: from this ply on, self-play plays the best action found and does not use
    ``temperature`` or root noise in the final choice; none: never.

    ``solve``: exact targets: from the end of each game backwards, positions are searched to the end
    of the game, each within so many positions; the network learns the exact value of solved ones,
    and the set of actions that keep it; 0: none. ``keep_decided``: the share that is learnt from,
    of the solved positions whose actions all have the same value; their values get more weight in
    return.
    """

    games: Games = 256
    positions: Number = 8192
    workers: Annotated[int, Meta(ge=1, le=1024)] | None = None
    algorithm: Literal["gumbel", "puct"] = "gumbel"
    simulations: Schedule = 32
    max_considered: Annotated[int, Meta(ge=2, le=1000)] = 16
    noise: Annotated[float, Meta(ge=0, le=10)] | None = None
    value_scale: Annotated[float, Meta(gt=0, le=100)] = 0.1
    maxvisit_init: Annotated[float, Meta(ge=0, le=10_000)] = 50.0
    rescale_values: bool = True
    c_puct: Annotated[float, Meta(gt=0, le=100)] = 1.5
    dirichlet_alpha: Annotated[float, Meta(ge=0.001, le=1000)] = 0.3
    temperature: Annotated[float, Meta(ge=0, le=100)] = 1.0
    prove: bool = True
    opening_plies: OpeningPlies = 4
    cache: Annotated[float, Meta(ge=0, le=1_000_000)] = 64.0
    temperature_plies: Plies | None = None
    solve: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    keep_decided: Annotated[float, Meta(ge=0.01, le=1)] = 1.0

    def __post_init__(self) -> None:
        if self.algorithm == "puct" and self.noise is not None and self.noise > 1:
            raise ValueError(f"noise: {self.noise:g} is more than 1, all of the root's prior")
        if isinstance(self.simulations, list):
            shares = [share for share, _ in self.simulations]
            if shares[0] != 0 or any(b <= a for a, b in pairwise(shares)):
                raise ValueError("simulations: the schedule starts at progress 0 and ascends")

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


class BootstrapConfig(Section, frozen=True):
    """Positions for the first iteration, from UCT with random playouts instead of the network.

    An untrained network plays worse than random playouts and costs more. ``positions``: how many
    positions to generate; 0: no bootstrap. With ``budget.minutes`` it takes at most a third of
    them, and learning from it another third, so there may be fewer. ``playouts``: playouts per
    move. ``replay_ratio``: as for the learner, in this first iteration.
    """

    positions: Count = 0
    playouts: Annotated[int, Meta(ge=1, le=1_000_000)] = 400
    replay_ratio: ReplayRatio = 4.0


class ReplayConfig(Section, frozen=True):
    """The replay buffer: the latest positions, from which the learner samples its batches.

    ``first``: how many positions it keeps at the start of the run. ``last``: how many at the end;
    in between the number grows linearly with the progress of the run.
    """

    first: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 50_000
    last: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 300_000

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"first: {self.first:,} is more than last, {self.last:,}")


class LearnerConfig(Section, frozen=True):
    """How the network learns.

    ``batch``: positions in a gradient step. ``replay_ratio``: how many times each new position is
    sampled, on average. ``learning_rate``, ``final_learning_rate``: learning rate at the start and
    the end of the run, with cosine decay. ``warmup_steps``: gradient steps in which the learning
    rate rises from 0. ``weight_decay``: AdamW's. ``gradient_clip``: largest norm of the gradient.

    ``value_weight``, ``score_weight``: loss weights of the outcome and of the final score.
    ``ema_decay``: decay of the exponential moving average of the weights (EMA); the EMA network is
    the one that plays. ``search_value``: weight of the search's root value in the value target; the
    game's outcome has the rest. ``precision``: in what the network computes while it learns;
    ``auto`` takes ``bfloat16`` for networks of this package on a processor that has it (AVX-512
    BF16, AMX), else ``float32``; weights, losses and the optimiser's state are always float32.
    """

    batch: BatchSize = 512
    replay_ratio: ReplayRatio = 4.0
    learning_rate: LearningRate = 2e-3
    final_learning_rate: LearningRate = 1e-4
    warmup_steps: Count = 100
    weight_decay: Annotated[float, Meta(ge=0, le=1)] = 1e-4
    gradient_clip: Annotated[float, Meta(gt=0, le=1000)] = 4.0
    value_weight: Weight = 1.0
    score_weight: Weight = 0.5
    ema_decay: Fraction = 0.995
    search_value: Fraction = 0.5
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


class EvaluationConfig(Section, frozen=True):
    """Matches against fixed opponents during training.

    ``every``: iterations between two evaluations; 0: no evaluation. ``against``: one opponent,
    for a score; or a list of opponents, from the weakest to the strongest,
    for an Elo rating by games against those nearest in strength; opponents without a shipped rating
    are rated when the run starts. ``games``: games of an evaluation. ``simulations``: the agent's
    simulations per move; 0: the most probable action of the policy, without search.

    ``truth``: an exact test, in which the moves that keep the exact value are counted too: ``hard``
    for the game's shipped test, or a file; none: no such test.
    """

    every: Count = 10
    against: Name | Annotated[list[Name], Meta(min_length=1, max_length=50)] = "uct:200"
    games: Annotated[int, Meta(ge=2, le=10_000, multiple_of=2)] = 40
    simulations: Simulations = 32
    truth: Name | None = None

    def __post_init__(self) -> None:
        if isinstance(self.against, list) and len(set(self.against)) < len(self.against):
            raise ValueError("against: an opponent is there twice")


class SaveConfig(Section, frozen=True):
    """Past agents that a run keeps in its folder, for ``ludarium curve`` and to play against.

    Both keys may change when a run is resumed.

    ``every``: iterations between two of them; 0: none are kept. ``keep``: the most that are kept;
    if there would be more, every second one is deleted, and from then on half as many are saved,
    so the remaining ones are spread evenly over the run; none: all are kept.
    """

    every: Count = 1
    keep: Annotated[int, Meta(ge=2, le=1_000_000)] | None = 20


class ClusterConfig(Section, frozen=True):
    """How ``ludarium train --cluster`` is spread over a Ray cluster, see ``docs/guide/cluster.md``.

    These keys decide who computes, not what is learnt: they may change when a run is resumed, and
    without ``--cluster`` they have no effect.

    ``actors``: how many self-play actors; none: as many as fit. ``actor_cpus``: cores of an actor.
    ``actor_gpus``: an actor's share of a GPU; 0: it uses cores only. ``games``: games that an actor
    plays in parallel; none: 64 for each of its cores (1,024 on a GPU), at most ``self_play.games``.

    ``staleness``: how many iterations' positions may be ordered or wait for the learner. With 1 the
    actors finish their chunks and wait while the learner learns; with n they play up to n - 1
    iterations ahead.
    """

    actors: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    actor_cpus: Annotated[int, Meta(ge=1, le=1024)] = 1
    actor_gpus: Annotated[float, Meta(ge=0, le=64)] = 0.0
    games: Games | None = None
    staleness: Annotated[int, Meta(ge=1, le=1000)] = 2


class VariantConfig(Section, frozen=True):
    """Options of the game that the network learns too, and how often they are played.

    ``options``: they replace the run's options. A list stands for each of its values, and several
    lists for all their combinations. ``share``: the share of self-play positions with these
    options, in proportion to the other variants' shares; divided evenly between combinations.
    """

    options: dict[Text, Any] = {}
    share: Annotated[float, Meta(gt=0, le=1000)] = 1.0

    def combinations(self) -> list[dict[str, Any]]:
        """Each set of options for which ``options`` stands."""
        return [dict(zip(self.options, each, strict=True)) for each in product(*self._values())]

    @property
    def count(self) -> int:
        """The number of `combinations`."""
        return prod(map(len, self._values()))

    def _values(self) -> list[list[Any]]:
        return [value if isinstance(value, list) else [value] for value in self.options.values()]


class RolloutConfig(Section, frozen=True):
    """The games that PPO plays before each learning phase.

    ``games``: games played in parallel. ``steps``: actions of the learner in each game.
    ``opening_plies``: each game starts with a random number of random plies, from 0 to this.
    ``symmetries``: show the network each position in a random symmetry of the game.
    """

    games: Games = 256
    steps: Annotated[int, Meta(ge=1, le=65_536)] = 32
    opening_plies: OpeningPlies = 4
    symmetries: bool = True


class OpponentsConfig(Section, frozen=True):
    """Opponents of the PPO learner: its current self and past selves.

    Past selves are drawn by prioritised fictitious self-play (Vinyals et al. 2019). ``current``:
    fraction of the games against the current self. ``every``: a copy of the network joins the pool
    of past selves every so many iterations. ``pool``: size of the pool; the oldest copy leaves.
    ``active``: number of past selves drawn in each iteration for its new games, each with a weight
    of (1 - s) squared, where s is the learner's expected score against it.
    """

    current: Fraction = 0.5
    pool: Annotated[int, Meta(ge=1, le=1000)] = 12
    every: Number = 10
    active: Annotated[int, Meta(ge=1, le=1000)] = 2


class PPOLearnerConfig(Section, frozen=True):
    """How PPO learns. Names and meanings are those of Stable-Baselines3 if it has them.

    ``batch``: steps in a minibatch. ``epochs``: passes over the steps of a rollout.
    ``learning_rate``, ``final_learning_rate``: learning rate at the start and the end, linear
    between. ``clip``: bound of the probability ratio. ``gamma``: discount. ``gae_lambda``: lambda
    of the generalised advantage estimate. ``entropy``, ``final_entropy``: weight of the entropy
    bonus at the start and the end, linear between. ``value_weight``: loss weight of the value.
    ``gradient_clip``: largest norm of the gradient. ``target_kl``: KL divergence at which learning
    stops early in an iteration; none: never.
    """

    batch: Annotated[int, Meta(ge=2, le=65_536)] = 256
    epochs: Annotated[int, Meta(ge=1, le=1000)] = 1
    learning_rate: LearningRate = 1.5e-3
    final_learning_rate: LearningRate = 1e-4
    clip: Annotated[float, Meta(gt=0, le=1)] = 0.2
    gamma: Annotated[float, Meta(gt=0, le=1)] = 1.0
    gae_lambda: Fraction = 0.95
    entropy: Annotated[float, Meta(ge=0, le=10)] = 0.02
    final_entropy: Annotated[float, Meta(ge=0, le=10)] = 0.002
    value_weight: Weight = 0.5
    gradient_clip: Annotated[float, Meta(gt=0, le=1000)] = 0.5
    target_kl: Annotated[float, Meta(gt=0, le=1000)] | None = None


class TrainingConfig(Section, frozen=True):
    """The keys that the configurations of all algorithms share.

    ``game``: name of the game. ``options``: its options; omitted ones have their defaults.
    ``algorithm``: ``alphazero`` or ``ppo``. ``seed``: seed of all randomness. ``device``:
    ``auto`` (a GPU if torch finds one), ``cpu``, ``cuda`` and so on.

    ``start``: a trained agent with whose weights the network begins: a checkpoint, the folder of a
    run, or the name of a shipped agent; none: random weights.
    """

    game: Text
    algorithm: Text
    options: dict[Text, Any] = {}
    seed: Annotated[int, Meta(ge=0)] = 1
    device: Text = "auto"
    budget: BudgetConfig = BudgetConfig()
    start: Text | None = None
    network: NetworkConfig = NetworkConfig(size="small")
    evaluation: EvaluationConfig = EvaluationConfig()
    save: SaveConfig = SaveConfig()

    def __post_init__(self) -> None:
        if self.seed >= 2**64:
            raise ValueError("seed: it is less than 2**64")


class AlphaZeroConfig(TrainingConfig, frozen=True):
    """Configuration of a run of `ludarium.training.alphazero`.

    ``backend``: what runs the network in self-play; ``auto`` takes ``graph-fp16`` on a GPU, else
    ``compiled-int8``, or ``eager`` for a custom network.
    ``variants``: sets of the game's options that one network learns together; none: the set
    ``options`` alone. With variants, the agent is evaluated with ``options``.
    """

    algorithm: Literal["alphazero"] = "alphazero"
    backend: Backend = "auto"
    self_play: SelfPlayConfig = SelfPlayConfig()
    bootstrap: BootstrapConfig = BootstrapConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    cluster: ClusterConfig = ClusterConfig()
    variants: Annotated[list[VariantConfig], Meta(max_length=_MOST_VARIANTS)] = []

    @property
    def bootstrap_seconds(self) -> float:
        """Time limit of the bootstrap in seconds; infinite without ``budget.minutes``."""
        minutes = self.budget.minutes
        return math.inf if minutes is None else 60 * minutes * _MOST_OF_BOOTSTRAP

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.variants:
            return
        combinations = sum(variant.count for variant in self.variants)
        if not 2 <= combinations <= _MOST_VARIANTS:
            raise ValueError(
                f"variants: {combinations:,} sets of options; accepted: 2 to {_MOST_VARIANTS}"
            )
        if self.network.module is not None:
            raise ValueError("network.module cannot be used with variants: leave one of them out")


class PPOConfig(TrainingConfig, frozen=True):
    """Configuration of a run of `ludarium.training.ppo`."""

    algorithm: Literal["ppo"] = "ppo"
    rollout: RolloutConfig = RolloutConfig()
    opponents: OpponentsConfig = OpponentsConfig()
    learner: PPOLearnerConfig = PPOLearnerConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        steps, batch = self.rollout.games * self.rollout.steps, self.learner.batch
        if steps % batch == 1:
            raise ValueError(
                f"learner.batch: {batch} leaves a batch of one of the {steps:,} steps of an "
                "iteration (rollout.games x rollout.steps), whose advantage cannot be normalised"
            )


#: The configuration class of each algorithm.
ALGORITHMS: dict[str, type[TrainingConfig]] = {
    "alphazero": AlphaZeroConfig,
    "ppo": PPOConfig,
}
