"""Compiled parts of self-play."""
