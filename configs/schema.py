"""Schema of the training configurations. Only ``game`` is required; every other key has a default.

`TrainingConfig` holds the keys that all algorithms share; each algorithm has a subclass with its
own sections. `SearchOptions` and `SearchSettings` have the options of a search, each written once
for all who offer them.
Every number has a range wide enough for all sensible values, so that a value outside
it is a mistake or an attack. `ludarium.training.runs.resources` checks whether the machine at hand
can run the configuration.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from math import prod
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta
from msgspec.structs import fields

from ludarium.base.messages import quoted

MOST_SIMULATIONS = 100_000  #: limit of a search
_MOST_OF_BOOTSTRAP = 1 / 3  #: share of ``budget.minutes``
_MOST_VARIANTS = 100
#: Keys and settings by the name that they had before.
RENAMED = {"prove": "solver", "bound": "lcb", "truth": "exact_test", "keep_decided": "keep_trivial"}

Text = Annotated[str, Meta(max_length=1000)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Count = Annotated[int, Meta(ge=0, le=10_000_000)]
Number = Annotated[int, Meta(ge=1, le=10_000_000)]
Games = Annotated[int, Meta(ge=1, le=65_536)]
OpeningPlies = Annotated[int, Meta(ge=0, le=100)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=0, le=100)]
LearningRate = Annotated[float, Meta(gt=0, le=0.1)]
ReplayRatio = Annotated[float, Meta(ge=0.001, le=1000)]
Simulations = Annotated[
    int,
    Meta(
        description="simulations for each move; fewer where the root is settled",
        ge=1,
        le=MOST_SIMULATIONS,
    ),
]
#: A number of simulations, or a schedule of pairs [progress, simulations].
Schedule = (
    Simulations | Annotated[list[tuple[Fraction, Simulations]], Meta(min_length=1, max_length=100)]
)
#: A learning rate, or a schedule of pairs [progress, learning rate].
LearningRates = (
    LearningRate
    | Annotated[list[tuple[Fraction, LearningRate]], Meta(min_length=1, max_length=100)]
)


#: What the keys with a schedule accept, for error messages.
SCHEDULES = {
    "self_play.simulations": "a whole number, or pairs [progress, whole number], such as "
    "[[0, 16], [0.5, 32]]",
    "learner.learning_rate": "a number, or pairs [progress, number] that lines join, such as "
    "[[0, 0.002], [1, 0.0001]]",
}


def _check_schedule(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless it is a number, or pairs whose progress ascends from 0."""
    if isinstance(value, list):
        shares = [share for share, _ in value]
        if shares[0] != 0 or any(b <= a for a, b in pairwise(shares)):
            raise ValueError(f"{name}: the pairs start at progress 0 and ascend")


def _on_the_lines(pairs: list[tuple[float, float]], progress: float) -> float:
    """The value at ``progress`` where lines join the pairs; after the last one its value."""
    for (start, first), (end, last) in pairwise(pairs):
        if progress < end:
            return first + (last - first) * (progress - start) / (end - start)
    return pairs[-1][1]


_NOISE = (
    "Gumbel: scale of the root's noise, in self-play 1 by default; PUCT: share of Dirichlet noise "
    "in the root's prior, at most 1, in self-play 0.25 by default; 0: no noise"
)
_TEMPERATURE = "the move is drawn from the visits to the power of 1 / this; 0: the most visited"
_TEMPERATURE_PLIES = (
    "from this ply on the best action found is played; the search keeps its noise; none: never"
)
_VALUE_SCALE = (
    "factor of values, times (`maxvisit_init` + most visits), in the choices and the policy target "
    "of Gumbel (see mctx), and in the root's value"
)
_RESCALE_VALUES = (
    "whether the values of a position are rescaled to [0, 1], as in mctx, for choices and the "
    "policy target; not for the root's value"
)
_SOLVER = (
    "back up exact values from finished positions, look for immediate wins in new ones, and do not "
    "search what is proven"
)
_SCORE = (
    "weight of the final lead in the maximised value, to play for points too; the rest is the "
    "outcome's"
)
_GUMBEL, _PUCT = {"algorithm": "gumbel"}, {"algorithm": "puct"}
Noise = Annotated[float, Meta(description=_NOISE, ge=0, le=10)]
Temperature = Annotated[float, Meta(description=_TEMPERATURE, extra=_PUCT, ge=0, le=100)]


def _meta(description: str, extra: dict[str, Any] | None = None, **limits: Any) -> Meta:
    """The `Meta` of an option that agents' names offer too."""
    return Meta(description=description, extra={**(extra or {}), "in_names": True}, **limits)


Backend = Literal["auto", "eager", "compiled", "graph-fp16", "compiled-int8"]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A section of a configuration.

    An unknown key is an error, so a misspelt key does not silently fall back to its default.
    `load_config` and `apply_settings` check types and ranges; the classes themselves check how keys
    fit together, and `SearchSettings` every key.
    """


class BudgetConfig(Section, frozen=True):
    """When the run ends: after ``iterations`` or ``minutes``, whichever is first."""

    iterations: Number = 100
    """The most iterations."""
    minutes: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    """Minutes of wall time over all parts of the run, compiling too; none: no limit."""


class NetworkConfig(Section, frozen=True):
    """The network: a residual network by size (default: ``small``), or a custom class.

    Give either ``size``, or ``channels`` and ``blocks``, or ``module``.
    """

    size: Literal["tiny", "small", "base"] | None = None
    """A name; `ludarium.models.network.SIZES` has the width and the blocks for each."""
    channels: Annotated[int, Meta(ge=1, le=4096)] | None = None
    """Width of the trunk."""
    blocks: Annotated[int, Meta(ge=0, le=256)] | None = None
    """Number of residual blocks."""
    module: Annotated[str, Meta(max_length=300)] | None = None
    """A custom class, ``package.module:Class``, see ``docs/guide/own-network.md``."""
    options: dict[str, Any] = {}
    """Arguments of that class; every other key of the section becomes one."""

    def __post_init__(self) -> None:
        numbers = (self.channels, self.blocks)
        if self.module is not None:
            for key, value in self.options.items():
                if not _is_kept_by_json(value):
                    raise ValueError(
                        f"{key}: a run keeps its configuration as JSON, which cannot hold this "
                        "value; give finite numbers, texts, lists (not tuples), and mappings with "
                        "texts as keys"
                    )
            return
        if self.options:
            raise ValueError("options are for a custom network: give module too")
        if self.size is not None and numbers != (None, None):
            raise ValueError(
                "give either size or channels and blocks, not both; to change from one to the "
                "other replace the whole section, as in network={size: small}"
            )
        if self.size is None and None in numbers:
            raise ValueError("channels and blocks go together: give both, or size instead")


def _is_kept_by_json(value: Any) -> bool:
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        return False


class SearchOptions(Section, frozen=True):
    """Options of a search: those that ``self_play`` of a configuration has as keys too.

    Each option is written here, or in `SearchSettings`, and nowhere else: compiled searches,
    configurations, agents' names, the page and C libraries read its name, type, default and range
    (`msgspec.Meta`), and its description. Only self-play has other defaults for some. ``extra`` of
    a `Meta` may hold ``algorithm``, the only one that obeys the option, and ``in_names`` if agents'
    names offer it.
    """

    algorithm: Annotated[
        Literal["gumbel", "puct"],
        _meta("the search: `gumbel` (Danihelka et al. 2022) or `puct` (Silver et al. 2017)"),
    ] = "gumbel"
    max_considered: Annotated[
        int,
        _meta("sequential halving begins with at most so many actions", _GUMBEL, ge=1, le=1000),
    ] = 16
    value_scale: Annotated[float, _meta(_VALUE_SCALE, gt=0, le=100)] = 0.1
    maxvisit_init: Annotated[float, _meta("see `value_scale`", ge=0, le=10_000)] = 50.0
    rescale_values: Annotated[bool, _meta(_RESCALE_VALUES, _GUMBEL)] = True
    c_puct: Annotated[float, _meta("weight of exploration", _PUCT, gt=0, le=100)] = 1.5
    dirichlet_alpha: Annotated[
        float, Meta(description="concentration of the noise", extra=_PUCT, ge=0.001, le=1000)
    ] = 0.3
    temperature: Temperature = 0.0
    solver: Annotated[bool, _meta(_SOLVER)] = True
    temperature_plies: (
        Annotated[int, Meta(description=_TEMPERATURE_PLIES, ge=0, le=1_000_000)] | None
    ) = None


class SearchSettings(SearchOptions, frozen=True):
    """Settings of one search; `SearchOptions` has most of them.

    Raises:
        ValueError: a setting is not accepted; the message names it.
    """

    simulations: Simulations = 64
    noise: Noise = 0.0
    score: Annotated[float, _meta(_SCORE, ge=0, lt=1)] = 0.0

    def __post_init__(self) -> None:
        for option in search_options():
            value = getattr(self, option.name)
            option.check(value.item() if hasattr(value, "item") else value)  # numpy's numbers too
        _check_noise(self.algorithm, self.noise)


def _check_noise(algorithm: str, noise: float | None) -> None:
    if algorithm == "puct" and noise is not None and noise > 1:
        raise ValueError(f"noise: {noise:g} is more than 1, all of the root's prior")


@dataclass(frozen=True)
class SearchOption:
    """A field of `SearchSettings`, as those who offer it need it.

    Attributes:
        name, default: as in the class.
        kind: its type, with the `Meta`.
        value_type: the type of its values without range and ``None``, such as ``float``.
        meta: its range and description.
    """

    name: str
    default: Any
    kind: Any
    value_type: Any
    meta: Meta

    @property
    def help(self) -> str:
        """Its description, which names the algorithm if only one obeys it."""
        title = {"": "", "gumbel": "Gumbel: ", "puct": "PUCT: "}[self.algorithm]
        return f"{title}{self.meta.description}"

    @property
    def algorithm(self) -> str:
        """The only algorithm that obeys it; empty for both."""
        return str((self.meta.extra or {}).get("algorithm", ""))

    @property
    def in_names(self) -> bool:
        """Whether agents' names offer it."""
        return "in_names" in (self.meta.extra or {})

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a flag or a choice, by the number of each; none for a number."""
        if get_origin(self.value_type) is Literal:
            return get_args(self.value_type)
        return (False, True) if self.value_type is bool else ()

    def check(self, value: Any) -> None:
        """Raise ``ValueError`` unless the option accepts the value."""
        try:
            msgspec.convert(value, self.kind)
        except msgspec.ValidationError:
            raise ValueError(
                f"the setting {self.name} of a search is {quoted(value)}; accepted: "
                f"{accepted(self.kind)}"
            ) from None


@cache
def search_options() -> tuple[SearchOption, ...]:
    """The options in `SearchSettings`."""
    return tuple(
        SearchOption(each.name, each.default, each.type, get_args(kind)[0], meta)
        for each in fields(SearchSettings)
        for kind in (each.type, *get_args(each.type))
        for meta in metas(kind)
    )


def metas(kind: Any) -> list[Meta]:
    """The range and the description in an ``Annotated`` type."""
    return [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Meta)]


def accepted(kind: Any) -> str:
    """The values of a number, a flag, or a choice of texts, in words; ``kind`` is the type."""
    if get_origin(kind) in (Union, UnionType):
        return ", or ".join(map(accepted, get_args(kind)))
    bounds = metas(kind)
    kind = get_args(kind)[0] if bounds else kind
    if kind in NUMBERS:
        return number_words(kind, bounds)
    if kind is type(None):
        return "none"
    return " or ".join(map(str, (False, True) if kind is bool else get_args(kind)))


#: Types of numbers, in words.
NUMBERS = {int: "a whole number", float: "a number"}


def number_words(kind: type, bounds: Sequence[Meta]) -> str:
    """A type of numbers and their range in words, such as ``a number above 0, up to 100``."""
    words = NUMBERS[kind]
    for each in bounds:
        up_to = " to" if each.gt is None else ", up to"
        limits = {" from": each.ge, " above": each.gt, up_to: each.le, " to below": each.lt}
        for word, limit in limits.items():
            words += "" if limit is None else f"{word} {limit:,.15g}"
        words += ", even" if each.multiple_of == 2 else ""
    return words


class SelfPlayConfig(SearchOptions, frozen=True):
    """How self-play generates positions to learn from."""

    games: Games = 256
    """Games in parallel over all workers, where the network needs batches: on a GPU, with the
    backend ``eager``, a custom network or a perceptron."""
    positions: Number = 8192
    """Positions of an iteration: a few more where workers play whole games, because these are
    played to their ends; else this divided by the workers, rounded down, for each worker."""
    workers: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """CPU threads; none: one per core, on a GPU as many as keep batches at 64 positions or more."""
    simulations: Schedule = 32
    """Simulations per move, or pairs [progress, simulations], where progress is from 0 to 1."""
    noise: Noise | None = None
    temperature: Temperature = 1.0
    opening_plies: OpeningPlies = 4
    """Each game starts with a random number of random plies, from 0 to this, or with none if they
    would end it."""
    cache: Annotated[float, Meta(ge=0, le=1_000_000)] = 64.0
    """Megabytes for the evaluation cache, all workers together; 0: no cache."""
    solve: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    """Exact targets: most positions searched to solve one, from a game's end back; 0: none."""
    keep_trivial: Annotated[float, Meta(ge=0.01, le=1)] = 1.0
    """Share kept of solved positions whose actions all have one value; these weigh 1 / share in
    the losses of outcome and score."""

    def __post_init__(self) -> None:
        _check_noise(self.algorithm, self.noise)
        _check_schedule("simulations", self.simulations)

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

    An untrained network plays worse than random playouts and costs more. With ``budget.minutes``
    the games take at most a third of that time, and learning from them another third, so there may
    be fewer positions.
    """

    positions: Count = 0
    """The fewest positions to generate, from rounds of at most 128 whole games; 0: no bootstrap."""
    playouts: Annotated[int, Meta(ge=1, le=1_000_000)] = 400
    """Playouts per move."""
    replay_ratio: ReplayRatio = 4.0
    """Replay ratio of the first iteration, see ``learner.replay_ratio``."""


class ReplayConfig(Section, frozen=True):
    """The replay buffer: the latest positions, from which the learner samples its batches.

    How many it keeps grows linearly from ``first`` to ``last`` with the progress of the run.
    """

    first: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 50_000
    """How many positions it keeps at the start of the run."""
    last: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 300_000
    """How many positions it keeps at the end."""

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"first: {self.first:,} is more than last, {self.last:,}")


class LearnerConfig(Section, frozen=True):
    """How the network learns."""

    batch: Annotated[int, Meta(ge=1, le=65_536)] = 512
    """Positions in a gradient step."""
    replay_ratio: ReplayRatio = 4.0
    """How many times each new position is sampled, on average."""
    learning_rate: LearningRates = 2e-3
    """Learning rate at the start of the run, which decays to the final one as a cosine; or pairs
    [progress, learning rate], joined by lines, where progress is from 0 to 1."""
    final_learning_rate: LearningRate = 1e-4
    """Learning rate at the end of the run, unless ``learning_rate`` is pairs."""
    warmup_steps: Count = 100
    """Gradient steps in which the learning rate rises from 0."""
    weight_decay: Annotated[float, Meta(ge=0, le=1)] = 1e-4
    """Weight decay of AdamW, for weights with more than one axis."""
    gradient_clip: Annotated[float, Meta(gt=0, le=1000)] = 4.0
    """Largest norm of the gradient."""
    value_weight: Weight = 1.0
    """Weight of the outcome's loss."""
    score_weight: Weight = 0.5
    """Weight of the loss of the final score."""
    ema_decay: Fraction = 0.995
    """Decay of the moving average (EMA) of the weights, with which self-play and evaluation
    play; in the first steps it is at most (1 + step) / (10 + step)."""

    def __post_init__(self) -> None:
        _check_schedule("learning_rate", self.learning_rate)

    def learning_rate_at(self, progress: float) -> float:
        """The learning rate at ``progress`` (0 to 1) of the run, after the warm-up."""
        if isinstance(self.learning_rate, list):
            return _on_the_lines(self.learning_rate, progress)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * cosine


class EvaluationConfig(Section, frozen=True):
    """Matches against fixed opponents during training.

    One opponent gives a score. A list, from the weakest to the strongest, gives an Elo rating by
    games against those nearest in strength; those without a shipped rating are rated when the run
    starts.
    """

    every: Count = 10
    """Iterations between two evaluations; the last iteration has one too; 0: no evaluation."""
    against: Name | Annotated[list[Name], Meta(min_length=1, max_length=50)] = "uct:200"
    """An opponent, for a score, or several from the weakest on, for an Elo rating."""
    games: Annotated[int, Meta(ge=2, le=10_000, multiple_of=2)] = 40
    """Games of an evaluation."""
    simulations: Annotated[int, Meta(ge=0, le=MOST_SIMULATIONS)] = 64
    """The agent's simulations per move; 0: the policy's favourite, without search."""
    exact_test: Name | None = None
    """Exact test, ``hard`` or a file, in which the moves that keep the exact value are counted;
    none: no test."""

    def __post_init__(self) -> None:
        if isinstance(self.against, list) and len(set(self.against)) < len(self.against):
            raise ValueError("against: an opponent occurs twice")


class SaveConfig(Section, frozen=True):
    """Past agents that a run keeps in its folder, for ``ludarium curve`` and to play against.

    Both keys may change when a run is resumed.
    """

    every: Count = 1
    """Iterations between two of them; 0: none are kept."""
    keep: Annotated[int, Meta(ge=2, le=1_000_000)] | None = 20
    """The most that are kept: if there are more, every second one goes; none: all are kept."""


class ClusterConfig(Section, frozen=True):
    """How ``ludarium train --cluster`` is spread over a Ray cluster, see ``docs/guide/cluster.md``.

    These keys decide who computes, and when: they may change when a run is resumed, and without
    ``--cluster`` they have no effect.
    """

    actors: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """How many self-play actors; none: as many as fit."""
    actor_cpus: Annotated[int, Meta(ge=1, le=1024)] = 1
    """Cores of an actor."""
    actor_gpus: Annotated[float, Meta(ge=0, le=64)] = 0.0
    """GPUs of an actor, or its share of one; 0: it uses cores only."""
    games: Games | None = None
    """Games side by side in an actor; none: ``self_play.games``, at most 64 a core or 1,024 on a
    GPU, at least 16 for each of several variants."""
    staleness: Annotated[int, Meta(ge=1, le=1000)] = 2
    """Iterations' worth of games that may be ordered or waiting; 1: while the learner learns, the
    actors play half an iteration's at most."""


class VariantConfig(Section, frozen=True):
    """Options of the game that the network learns too, and how often they are played."""

    options: dict[Text, Any] = {}
    """Options that replace the run's; a list stands for each of its values, several lists for all
    combinations of their values."""
    share: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """Share of the positions, in proportion to other variants, divided among combinations."""

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
    """The games that PPO plays before each learning phase."""

    games: Games = 256
    """Games played in parallel."""
    steps: Annotated[int, Meta(ge=1, le=65_536)] = 32
    """Actions of the learner in each game and iteration."""
    opening_plies: OpeningPlies = 4
    """Each game starts with a random number of random plies, from 0 to this, or with none if they
    would end it."""
    symmetries: bool = True
    """Show the network each position in a random symmetry of the game."""


class OpponentsConfig(Section, frozen=True):
    """Opponents of the PPO learner: its current self and past selves.

    Past selves are drawn by prioritised fictitious self-play (Vinyals et al. 2019): each with a
    weight of (1 - s) squared, where s is the learner's expected score against it.
    """

    current: Fraction = 0.5
    """Probability that a new game is against the current self; 1 while the pool is empty."""
    pool: Annotated[int, Meta(ge=1, le=1000)] = 12
    """Size of the pool of past selves; the oldest leaves."""
    every: Number = 10
    """Iterations after which a copy of the network joins the pool."""
    active: Annotated[int, Meta(ge=1, le=1000)] = 2
    """Past selves drawn in each iteration for its new games."""


class PPOLearnerConfig(Section, frozen=True):
    """How PPO learns. Keys mean what they do in Stable-Baselines3, where some have other names."""

    batch: Annotated[int, Meta(ge=2, le=65_536)] = 256
    """Steps in a minibatch."""
    epochs: Annotated[int, Meta(ge=1, le=1000)] = 1
    """Passes over the steps of a rollout."""
    learning_rate: LearningRates = 1.5e-3
    """Learning rate at the start, which falls linearly to the final one; or pairs
    [progress, learning rate], joined by lines, where progress is from 0 to 1."""
    final_learning_rate: LearningRate = 1e-4
    """Learning rate at the end, unless ``learning_rate`` is pairs."""
    clip: Annotated[float, Meta(gt=0, le=1)] = 0.2
    """How far from 1 the probability ratio may be; beyond, it is clipped."""
    gamma: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Discount."""
    gae_lambda: Fraction = 0.95
    """Lambda of the generalised advantage estimate."""
    entropy: Annotated[float, Meta(ge=0, le=10)] = 0.02
    """Weight of the entropy bonus at the start; it falls linearly to the final one."""
    final_entropy: Annotated[float, Meta(ge=0, le=10)] = 0.002
    """Weight of the entropy bonus at the end."""
    value_weight: Weight = 0.5
    """Weight of the value's loss."""
    gradient_clip: Annotated[float, Meta(gt=0, le=1000)] = 0.5
    """Largest norm of the gradient."""
    target_kl: Annotated[float, Meta(gt=0, le=1000)] | None = None
    """An iteration stops learning early at 1.5 times this KL divergence; none: never."""

    def __post_init__(self) -> None:
        _check_schedule("learning_rate", self.learning_rate)

    def learning_rate_at(self, progress: float) -> float:
        """The learning rate at ``progress`` (0 to 1) of the run."""
        if isinstance(self.learning_rate, list):
            return _on_the_lines(self.learning_rate, progress)
        return self.learning_rate + progress * (self.final_learning_rate - self.learning_rate)


class TrainingConfig(Section, frozen=True):
    """The keys that the configurations of all algorithms share."""

    game: Text
    """Name of the game."""
    algorithm: Text
    """``alphazero`` or ``ppo``."""
    options: dict[Text, Any] = {}
    """The game's options; omitted ones have their defaults."""
    seed: Annotated[int, Meta(ge=0)] = 1
    """Seed of all randomness but that of games on a cluster; below 2**64."""
    device: Text = "auto"
    """``auto`` (``cuda`` if torch finds such a GPU, else ``cpu``), or a name of torch's, such as
    ``cpu``, ``cuda:1`` and ``mps``."""
    budget: BudgetConfig = BudgetConfig()
    start: Text | None = None
    """The agent whose weights the network starts with: a checkpoint, a run, a shipped agent; none:
    random."""
    network: NetworkConfig = NetworkConfig(size="small")
    evaluation: EvaluationConfig = EvaluationConfig()
    save: SaveConfig = SaveConfig()

    def __post_init__(self) -> None:
        if self.seed >= 2**64:
            value = quoted(self.seed)
            raise ValueError(f"seed is {value}; accepted: a whole number from 0 to 2**64 - 1")


class AlphaZeroConfig(TrainingConfig, frozen=True):
    """Configuration of a run of `ludarium.training.alphazero`."""

    algorithm: Literal["alphazero"] = "alphazero"
    backend: Backend = "auto"
    """``auto``: graph-fp16 on ``cuda``, compiled-int8 on the CPU, eager where these cannot run."""
    self_play: SelfPlayConfig = SelfPlayConfig()
    bootstrap: BootstrapConfig = BootstrapConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    cluster: ClusterConfig = ClusterConfig()
    variants: Annotated[list[VariantConfig], Meta(max_length=_MOST_VARIANTS)] = []
    """Sets of options that one network learns together; it is evaluated with ``options``."""

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
