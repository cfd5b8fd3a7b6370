"""Makes the trainer for a configuration, whose games are played here or on a cluster.

Modules below import no module that uses them: a `Trainer` gets its algorithm from here, and
`AlphaZero` its actors.
"""

from __future__ import annotations

from functools import partial

from ludarium.configs import TrainingConfig

from .runs.folder import RunFolder
from .runs.reporting import Reporter
from .runs.trainer import MakeAlgorithm, Trainer


def make_trainer(
    config: TrainingConfig, folder: RunFolder, reporter: Reporter, on_cluster: bool = False
) -> Trainer:
    """A run, new or resumed from its folder; the arguments are `Trainer`'s.

    Args:
        config: the run's configuration.
        folder: the run's folder.
        reporter: receives the events of the run.
        on_cluster: play on the Ray cluster that this process has joined, not in this process.

    Raises:
        ImportError: a library that the algorithm needs is missing.
        ValueError, StorageError: see `Trainer`.
    """
    algorithm = algorithm_of(config.algorithm, on_cluster)
    return Trainer(config, folder, reporter, algorithm, on_cluster)


def algorithm_of(name: str, on_cluster: bool = False) -> MakeAlgorithm:
    """The factory of the algorithm with this name in a configuration; imports only its modules."""
    if name == "ppo":
        from .ppo.loop import PPO

        return PPO
    from .alphazero.loop import AlphaZero

    if not on_cluster:
        return AlphaZero
    from .cluster.actors import ClusterActors

    return partial(AlphaZero, actors=ClusterActors)
