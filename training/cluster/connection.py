"""The Ray cluster on which a run is played: joined, or started on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ludarium.base.messages import shortened
from ludarium.base.threads import available_cores

_STORE = 1 << 28  # bytes of the object store of a cluster started here
_ANSWER = 10.0  # seconds within which a cluster must answer


@contextmanager
def joined(address: str = "") -> Iterator[None]:
    """A context in which this process belongs to a Ray cluster.

    Args:
        address: address of a running cluster, as ``HOST:PORT``, or ``auto`` for the one that this
            machine belongs to; if empty, one is started on this machine, and ends with the context.

    Raises:
        ImportError: Ray is not installed.
        ValueError: there is no cluster at the address, it runs another version of Ray or Python,
            the address is one of a Ray client, or no cluster can be started here.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            f'a cluster needs Ray: pip install "ludarium[cluster]" ({error})'
        ) from error
    if "://" in address:
        raise ValueError(
            f"cluster {shortened(address)}: a run must be started on a node of the cluster; "
            "give HOST:PORT, or auto"
        )
    where: dict[str, Any] = {"address": address}
    if not address:
        where = {
            "address": "local",
            "num_cpus": available_cores(),
            "object_store_memory": _STORE,
            "include_dashboard": False,
        }
    try:
        _check_answer(address)
        ray.init(**where, namespace="ludarium", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises a plain Exception if a node does not start in time
        name = f"at {shortened(address)}" if address else "of this machine"
        raise ValueError(
            f"cannot use the Ray cluster {name} ({shortened(str(error))}); `ray start` starts one, "
            "`ray status` shows it; a cluster with a token needs RAY_AUTH_MODE=token"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def received(reference: Any) -> Any:
    """The return value of an actor's call, by Ray's reference to it.

    Raises:
        ValueError: the actor or its answer is lost.
        Exception: whatever the actor raised.
    """
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        reason = shortened(str(error), 1000)
        raise ValueError(f"self-play on the cluster has ended: {reason}") from None


def _check_answer(address: str) -> None:
    """Raise unless somebody answers at ``HOST:PORT``; Ray itself would wait for minutes."""
    if address not in ("", "auto", "local"):
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            raise ValueError("give HOST:PORT, or auto")
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER).close()
