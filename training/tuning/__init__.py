"""Searches over keys of a configuration by Optuna. Import `space`, which defines what varies, and
`study`, which trains.
"""
