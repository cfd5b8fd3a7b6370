"""The network of a game: its shape and architecture, evaluators, and checkpoints that fit a game.

A network may be one for many sets of the game's options, see `ludarium.models.family`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ludarium.base.memory import require_memory
from ludarium.base.messages import named, quoted, shortened
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.options import check_options, check_stored
from ludarium.models import (
    Architecture,
    CheckpointHeader,
    Evaluation,
    Evaluator,
    NetworkShape,
    load_header,
)
from ludarium.models.evaluation import in_canonical_frame, is_canonical
from ludarium.models.inference import BATCH_INVARIANT, InferenceEngine, is_network
from ludarium.models.layers import layers, member_weights
from ludarium.models.options import option_features
from ludarium.models.shape import check_member, policy_planes
from ludarium.models.weights import load_weights

if TYPE_CHECKING:
    from ludarium.configs.schema import NetworkConfig
    from ludarium.models import Checkpoint, PolicyValueNetwork
    from ludarium.models.inference import Network

_CACHE_MEGABYTES = 16.0
_CALIBRATION_INPUTS, _SEED = 1024, 1  # observations of random games
_GAMES_AT_ONCE = 64
_PLIES_BETWEEN = 7


def network_shape(game: Game) -> NetworkShape:
    """The shape that a network for ``game`` must fit."""
    places = None if game.action_places is None else tuple(game.action_places.tolist())
    return NetworkShape(game.observation_shape, game.num_actions, places)


def family_shape(variants: Sequence[Game]) -> NetworkShape:
    """The shape of one network for all variants: the shape of the first widest one.

    Variants are compared by planes of the observation, then planes of the policy, then actions.
    """

    def width(shape: NetworkShape) -> tuple[int, int, int]:
        placed = len(shape.observation) == 3 and shape.action_places is not None
        return shape.observation[0], policy_planes(shape)[0] if placed else 0, shape.num_actions

    return max(map(network_shape, variants), key=width)


def chosen_architecture(
    game: Game, config: NetworkConfig, variants: Sequence[Game] = ()
) -> Architecture:
    """The architecture of the network that a configuration asks for.

    Args:
        game: the game that it plays.
        config: the section of the configuration.
        variants: the game with each set of options, if one network learns many of them.

    Raises:
        ValueError: no network of a named size fits the observations.
    """
    from ludarium.models.network import network_size

    if config.module is not None:
        return Architecture(dict(config.options), config.module)
    if config.channels is not None and config.blocks is not None:
        channels, blocks = config.channels, config.blocks
    else:
        assert config.size is not None, "the configuration makes sure of it"
        channels, blocks = network_size(network_shape(game), config.size)
    of_family = {"features": len(_features(variants, game))} if variants else {}
    return Architecture({"channels": channels, "blocks": blocks} | of_family)


def fresh_network(
    game: Game, config: NetworkConfig, variants: Sequence[Game] = ()
) -> PolicyValueNetwork:
    """A network to train, with fresh random weights; the arguments are `chosen_architecture`'s.

    Raises:
        ValueError: the configuration names a custom network that is not registered, cannot be
            made, or fails `ludarium.models.architecture.check_network`; no network of this package
            fits the observations; or no one network fits all variants.
    """
    from ludarium.models.architecture import check_network, make_network
    from ludarium.models.family import FamilyNetwork, Member

    architecture = chosen_architecture(game, config, variants)
    if variants:
        members = [Member(network_shape(each), _features(variants, each)) for each in variants]
        return FamilyNetwork(family_shape(variants), **architecture.options, members=members)
    shape = network_shape(game)
    network = make_network(shape, architecture)
    if architecture.module is not None:
        check_network(network, shape, architecture)
    return network


def _features(variants: Sequence[Game], game: Game) -> list[float]:
    return option_features([each.options for each in variants], game.options)


def inference_engine(
    game: Game,
    network: Network,
    batch: int,
    backend: str = "auto",
    device: str = "cpu",
    calibration_inputs: np.ndarray | None = None,
) -> InferenceEngine:
    """The network of a game as an evaluator in the canonical frame.

    Arguments and errors are those of `InferenceEngine`.

    Raises:
        ValueError: also if the network says that it is for other observations, or another number
            of actions; a user's own need not say it.
    """
    wanted = network_shape(game)
    made_for = getattr(network, "shape", wanted)
    if isinstance(made_for, NetworkShape) and (
        (made_for.observation, made_for.num_actions) != (wanted.observation, wanted.num_actions)
    ):
        raise ValueError(
            f"the network is for observations {list(made_for.observation)} and "
            f"{made_for.num_actions} actions, {game} has {list(wanted.observation)} and "
            f"{wanted.num_actions}: take a network of this game"
        )
    return InferenceEngine(
        network, game.observation_shape, batch, backend, device, calibration_inputs
    )


def evaluator_of(
    game: Game, network: Network | Evaluator, batch: int, backend: str = "auto"
) -> Evaluator:
    """The network of a game in a backend on the CPU, in batches of at most ``batch`` observations.

    A function is an evaluator already, and is returned unchanged. ``compiled-int8`` takes the
    ranges of activations from `calibration_inputs_of` the game.

    Raises:
        ValueError: see `InferenceEngine`.
    """
    if not is_network(network):
        return cast("Evaluator", network)
    is_small = backend == "compiled-int8"
    calibration_inputs = calibration_inputs_of(game) if is_small else None
    return inference_engine(
        game, cast("Network", network), batch, backend, calibration_inputs=calibration_inputs
    )


def calibration_inputs_of(game: Game) -> np.ndarray:
    """Observations from positions of random games, as a network sees them; always the same ones.

    Eight-bit networks take the ranges of their activations from them.
    """
    return random_observations(game, _CALIBRATION_INPUTS, _SEED)


def random_observations(game: Game, count: int, seed: int) -> np.ndarray:
    """Observations of random games at various plies, as networks see them, float32[count, *shape].

    Raises:
        ValueError: there is not enough free memory for them.
    """
    size = 4 * math.prod(game.observation_shape)
    require_memory(f"positions={count:,}", 2 * count * size)  # the parts and the whole
    games = BatchEnv(game, _GAMES_AT_ONCE, threads=1, seed=seed, canonical=True)
    found = []
    for _ in range(math.ceil(count / _GAMES_AT_ONCE)):
        found.append(games.observations.copy())
        for _ in range(_PLIES_BETWEEN):
            games.step_random()
    return np.concatenate(found)[:count]


def shared_by_threads(evaluate: Evaluator) -> Evaluator:
    """An evaluator that may be called from several threads at a time.

    A function of the user's own may not be thread-safe, so one call waits for the other.
    """
    if isinstance(evaluate, InferenceEngine):
        return evaluate
    lock = threading.Lock()

    def evaluate_alone(observations: np.ndarray) -> Evaluation:
        with lock:
            return evaluate(observations)

    evaluate_alone.__name__ = getattr(evaluate, "__name__", type(evaluate).__name__)
    return in_canonical_frame(evaluate_alone) if is_canonical(evaluate) else evaluate_alone


def cache_size(evaluate: Evaluator) -> float:
    """Megabytes of a search's cache: cached answers must equal fresh ones, or moves would change.

    So there is a cache only if an answer has the same bits in every batch.
    """
    if isinstance(evaluate, InferenceEngine) and evaluate.backend in BATCH_INVARIANT:
        return _CACHE_MEGABYTES
    return 0.0


def stored_network(path: Path, game: Game, name: str) -> Network:
    """The network of a checkpoint, for a game.

    Args:
        path: path of the file.
        game: the game to play; a network for many sets of options becomes the one for this game.
        name: the checkpoint's name, for messages.

    Returns:
        Its layers, which need no torch; for a custom network the torch module.

    Raises:
        FileNotFoundError, ValueError: see `load_weights`, `load_checkpoint` and `check_fits`.
        ImportError: a custom network needs torch, which is not installed.
    """
    if load_header(path).architecture.module is not None:
        from ludarium.models import load_checkpoint

        return fitted(load_checkpoint(path), game, name).network
    stored = load_weights(path)
    check_fits(stored, game, name)
    weights, shape = stored.weights, network_shape(game)
    if stored.variants:
        features = option_features(stored.variants, game.options)
        weights = member_weights(weights, stored.shape, shape, features)
    return layers(weights, shape)


def member_network(
    network: PolicyValueNetwork, variants: Sequence[dict[str, Any]], game: Game
) -> PolicyValueNetwork:
    """The network for one game; a family's network gives a copy of its weights.

    Args:
        network: a network for this game alone, or for many sets of options.
        variants: the sets of options that a network of many learns; empty for a network of one.
        game: the game that it is to play.

    Raises:
        ValueError: the network does not fit the game.
    """
    from ludarium.models.family import FamilyNetwork

    if not isinstance(network, FamilyNetwork):
        return network
    return network.member(network_shape(game), option_features(variants, game.options))


def fits(header: CheckpointHeader, game: Game) -> bool:
    """Whether a checkpoint's network can play a game, by its rules, shapes and option names."""
    if (header.game, header.version) != (game.name, game.version):
        return False
    if not header.variants:
        return header.shape == network_shape(game)
    try:
        check_member(header.shape, network_shape(game))
    except ValueError:
        return False
    return set(header.variants[0]) == set(game.options)


def fitted(checkpoint: Checkpoint, game: Game, name: str) -> Checkpoint:
    """The checkpoint of a network for one game; one for many sets of options becomes this game's.

    Args:
        checkpoint: a checkpoint of any kind.
        game: the game to play.
        name: the checkpoint's name, for messages.

    Raises:
        ValueError: see `check_fits`.
    """
    check_fits(checkpoint, game, name)
    if not checkpoint.variants:
        return checkpoint
    return replace(
        checkpoint,
        options=dict(game.options),
        shape=network_shape(game),
        network=member_network(checkpoint.network, checkpoint.variants, game),
    )


def check_fits(checkpoint: CheckpointHeader, game: Game, name: str) -> None:
    """Raise ``ValueError`` unless a checkpoint, called ``name``, can play ``game``."""
    name = named(name)
    if checkpoint.game != game.name or checkpoint.version != game.version:
        raise ValueError(
            f"checkpoint {name} plays {shortened(checkpoint.game, 60)} version "
            f"{checkpoint.version}, not {game.name} version {game.version}: train one for this, "
            "or take another agent (uct:1000)"
        )
    try:
        stored = check_stored(game.option_list, checkpoint.options)
        check_options(game.name, game.option_list, stored)
    except ValueError as error:
        raise ValueError(f"checkpoint {name}: {error}") from None
    if not fits(checkpoint, game):
        if not checkpoint.variants and checkpoint.options == game.options:
            raise ValueError(
                f"checkpoint {name} does not fit {game}: version and options are the same, but not "
                "observations or actions; if its rules have changed, give it a new version, and "
                "train an agent for it"
            )
        raise ValueError(
            f"checkpoint {name}, trained with options {quoted(checkpoint.options, 100)}, does not "
            f"fit the rules of {game}: give its options, train one for these "
            "rules, or take another agent (uct:1000)"
        )


def learnt_values(header: CheckpointHeader) -> dict[str, list[Any]]:
    """The values of each option that a network of many sets of options learnt, if they differ."""
    values: dict[str, list[Any]] = {}
    for variant in header.variants:
        for name, value in variant.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    return {name: known for name, known in values.items() if len(known) > 1}


def learnt_options(header: CheckpointHeader, options: dict[str, Any]) -> dict[str, Any]:
    """The set of options that a network has learnt with the most values in common with these."""
    return max(
        header.variants or [header.options],
        key=lambda learnt: sum(learnt.get(name) == value for name, value in options.items()),
    )
