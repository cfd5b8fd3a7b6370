"""Searches over keys of a configuration by Optuna. Import `space`, which defines what varies, and
`study`, which trains.
"""

from ludarium.envs.engine.messages import needing

with needing("tune"):
    import optuna  # noqa: F401
