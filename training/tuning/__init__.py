"""Searches over keys of a configuration by Optuna. Import `space`, which defines what varies, and
`study`, which trains.
"""

from ludarium.base.messages import needing

with needing("tune"):
    import optuna  # noqa: F401
