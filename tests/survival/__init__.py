"""Hostile files, wild actions, many environments: nothing hangs, leaks, executes or crashes."""
