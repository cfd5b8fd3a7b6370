"""Draws games on boards: grids with their notation, scenes, layers, pictures and films. Import
from its modules: games draw with `scene`, `grid` and `picture`; `planes` draws games that do not.
"""
