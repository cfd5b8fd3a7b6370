"""Searches over keys of a configuration by Optuna. Import `space`, which says what may vary, and
`study`, which trains.
"""
