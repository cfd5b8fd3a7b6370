"""A Ray cluster of several nodes on this machine, for tests; they are skipped without Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.survival.conftest import one_thread  # noqa: F401 - a fixture

#: Of each node, in bytes: the least that Ray accepts is 75 MB.
STORE = 100 * 2**20


@pytest.fixture
def new_cluster() -> Iterator[Any]:
    """Makes clusters: ``new_cluster(cpus of the head)``; they end with the test."""
    ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "ludarium[cluster]"')
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray runs its processes with a low priority: on a machine with other work they would take
    # minutes to start.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - so spelt by Ray
    made = []

    def make(cpus: int) -> Any:
        arguments = {"num_cpus": cpus, "object_store_memory": STORE, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=arguments)
        made.append(cluster)
        return cluster

    yield make
    ray.shutdown()
    for cluster in made:
        cluster.shutdown()
