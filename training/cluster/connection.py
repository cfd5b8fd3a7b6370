"""`Cluster`: a Ray cluster that a run has joined, or has started on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import shortened
from ludarium.envs.engine.threads import available_cores
from ludarium.training.alphazero.actors import Weights
from ludarium.training.alphazero.mixture import Mixture
from ludarium.training.runs.evaluation import Evaluator

from .nodes import Nodes, Say

if TYPE_CHECKING:
    from .actors import ClusterActors

_STORE = 1 << 28  # bytes of the object store of a cluster that is started here
_ANSWER = 10.0  # seconds within which a cluster must answer


class Cluster:
    """A Ray cluster for one run at a time.

    Args:
        address: of a cluster that runs, as ``HOST:PORT``, or ``auto`` for the one that this
            machine belongs to; None starts one on this machine, which ends with this process.
        cores: of this machine that a new cluster uses; default: all that this process may use.

    Raises:
        ImportError: Ray is not installed.
    """

    def __init__(self, address: str | None = None, cores: int | None = None) -> None:
        try:
            import ray  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f'a cluster needs Ray: pip install "ludarium[cluster]" ({error})'
            ) from error
        if address is not None and "://" in address:
            raise ValueError(
                f"--cluster {shortened(address)}: a run must be started on a node of the cluster; "
                "give HOST:PORT, or auto"
            )
        self.address = address
        self.cores = cores or available_cores()
        self._nodes: Nodes | None = None
        self._is_mine = False

    def actors(
        self,
        games: Sequence[tuple[Game, float]],
        mixture: Mixture,
        config: AlphaZeroConfig,
        device: str,
        weights: Weights,
        start: int,
        say: Say,
    ) -> ClusterActors:
        """Self-play actors on the cluster; see `ClusterActors`."""
        from .actors import ClusterActors

        nodes = self.join(games[0][0], say)
        return ClusterActors(nodes, games, mixture, config, device, weights, start, say)

    def evaluator(self, game: Game, say: Say) -> Evaluator:
        """Plays evaluations on the cluster."""
        from .evaluator import ClusterEvaluator

        return ClusterEvaluator(self.join(game, say), say)

    def join(self, game: Game, say: Say) -> Nodes:
        """Join the cluster, or start it; its nodes that may play ``game``.

        Raises:
            ValueError: there is no cluster at the address, or one of another version of Ray or
                Python.
        """
        import ray

        if self._nodes is not None:
            return self._nodes
        if not ray.is_initialized():
            _check_address(self.address)
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            started: dict = {"num_cpus": self.cores, "object_store_memory": _STORE}
            where: dict = {"address": self.address} if self.address else {"address": "local"}
            try:
                ray.init(
                    **where,
                    **({} if self.address else started | {"include_dashboard": False}),
                    namespace="ludarium",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except Exception as error:  # Ray raises just that where a node does not start in time
                raise _cannot_use(self.address, str(error)) from error
            self._is_mine = True
        self._nodes = Nodes(game, say)
        return self._nodes

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._nodes = None
        if self._is_mine:
            import ray

            ray.shutdown()
            self._is_mine = False


def _check_address(address: str | None) -> None:
    """Refuse an address where nobody answers; Ray itself would wait for minutes."""
    if address in (None, "auto", "local"):
        return
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _cannot_use(address, str(error)) from error


def _cannot_use(address: str | None, reason: str) -> ValueError:
    where = "at " + shortened(address) if address else "of this machine"
    return ValueError(
        f"cannot use the Ray cluster {where} ({shortened(reason)}); `ray start` starts one, "
        "`ray status` shows it"
    )
