"""Starting from a trained agent: with its network, or with a larger one that it grows into."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludarium.base.messages import quoted, shortened
from ludarium.configs import TrainingConfig
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.models import CheckpointHeader, load_header
from ludarium.models.options import option_features
from ludarium.training.agents.checkpoints import TrainedSpec
from ludarium.training.agents.names import read_agent
from ludarium.training.networks import check_fits, chosen_architecture

if TYPE_CHECKING:
    from ludarium.models import PolicyValueNetwork


def start_settings(
    name: str, config: TrainingConfig, begun: TrainingConfig | None = None
) -> list[str]:
    """Settings that let a configuration start from an agent: its network, and no bootstrap.

    Args:
        name: name of a trained agent.
        config: the run's configuration.
        begun: configuration of the run in the folder, if there is one. If that run started from the
            same agent, its network is taken, and the agent's file is not read.

    Raises:
        ValueError: ``name`` means no trained agent, or its file is damaged.
        FileNotFoundError: it names a folder without an agent, or a game without a shipped one.
    """
    if begun is not None and begun.start == name:
        options = msgspec.to_builtins(begun.network)
    else:
        game = make_game(config.game, **config.options)
        options = dict(load_header(_checkpoint_path(name, game)).architecture.described())
        options.pop("features", None)
    settings = [f"start={json.dumps(name)}", f"network={json.dumps(options)}"]
    if hasattr(config, "bootstrap"):
        settings.append("bootstrap.positions=0")
    return settings


def take_weights(
    network: PolicyValueNetwork,
    config: TrainingConfig,
    game: Game,
    variants: Sequence[Game],
) -> None:
    """Copy the weights of the agent that a run starts from, or grow them into a larger network.

    Args:
        network: the run's network, from `ludarium.training.networks.fresh_network`.
        config: the run's configuration, with ``start``.
        game: the rules.
        variants: the game with each set of options that the network learns, if there are several.

    Raises:
        ValueError: the agent plays another game or learnt other ``variants``, or its network cannot
            grow into this one; or see `start_settings`.
        FileNotFoundError: see `start_settings`.
    """
    from ludarium.models import load_checkpoint
    from ludarium.models.growth import grow

    name = config.start
    assert name is not None, "the caller has looked"
    checkpoint = load_checkpoint(_checkpoint_path(name, game))
    architecture = chosen_architecture(game, config.network, variants)
    _check(checkpoint, f"start: {quoted(name)}", game, variants)
    if checkpoint.architecture == architecture:
        network.load_state_dict(checkpoint.network.state_dict())
        return
    try:
        grow(checkpoint.network, network)
    except ValueError as error:
        raise ValueError(
            f"start: {quoted(name)} has the network {checkpoint.architecture.described()}, and "
            f"the configuration asks for {architecture.described()} ({error}): give it the "
            "agent's or a larger one, or start from another agent"
        ) from None


def _checkpoint_path(name: str, game: Game) -> Path:
    agent = read_agent(name, from_file=True)
    if not isinstance(agent, TrainedSpec):
        raise ValueError(
            f"start: {quoted(name)} is not a trained agent; name a checkpoint, the folder of a "
            "run, or a game's shipped agent"
        )
    return agent.checkpoint_path(game.options)


def _check(checkpoint: CheckpointHeader, name: str, game: Game, variants: Sequence[Game]) -> None:
    """Raise ``ValueError`` unless a checkpoint's weights mean the same to a run's network."""
    check_fits(checkpoint, game, name)
    if bool(checkpoint.variants) != bool(variants):
        of_many, of_one = (
            ("the agent", "the run") if checkpoint.variants else ("the run", "the agent")
        )
        raise ValueError(
            f"{name}: {of_many} learns many sets of options, and {of_one} a single one; both must "
            "have `variants`, or neither"
        )
    learnt, learns = checkpoint.variants, [variant.options for variant in variants]
    if any(
        option_features(learnt, options) != option_features(learns, options) for options in learns
    ):
        raise ValueError(
            f"{name} learnt other values of the options than the run's `variants` have, so the "
            f"network would take one for another; it learnt {shortened(json.dumps(learnt), 200)}"
        )
