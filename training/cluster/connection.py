"""`Cluster`: a Ray cluster that a run has joined, or has started on this machine."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from ludarium.envs.engine.messages import shortened
from ludarium.envs.engine.threads import available_cores

_STORE = 1 << 28  # bytes of the object store of a cluster that is started here
_ANSWER = 10.0  # seconds within which a cluster must answer


class Cluster:
    """A Ray cluster for one run at a time.

    Args:
        address: of a cluster that runs, as ``HOST:PORT``, or ``auto`` for the one that this
            machine belongs to; None starts one on this machine, which ends with this process.

    Raises:
        ImportError: Ray is not installed.
        ValueError: the address is one of Ray's client.
    """

    def __init__(self, address: str | None = None) -> None:
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
        self._is_mine = False

    def join(self) -> None:
        """Join the cluster, or start it.

        Raises:
            ValueError: there is no cluster at the address, or one of another version of Ray or
                Python.
        """
        import ray

        if ray.is_initialized():
            return
        _check_address(self.address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        where: dict[str, Any] = {"address": self.address}
        if self.address is None:
            where = {
                "address": "local",
                "num_cpus": available_cores(),
                "object_store_memory": _STORE,
                "include_dashboard": False,
            }
        try:
            ray.init(
                **where, namespace="ludarium", log_to_driver=False, logging_level=logging.ERROR
            )
        except Exception as error:  # Ray raises just that where a node does not start in time
            raise _cannot_use(self.address, str(error)) from error
        self._is_mine = True

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
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
        "`ray status` shows it; one with a token needs RAY_AUTH_MODE=token"
    )
