"""Searches over keys of a configuration, and comparisons of seeds: many runs, one table.

`space` says what may be varied, `study` has the trials trained one after the other and stops those
that fall behind, `standing` says how good each was. A trial is a run in a folder of its own.
"""
