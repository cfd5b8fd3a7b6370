"""The marker that the long tests here have."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long, or compiles much; not in the quick set")
