"""Shared code of games on boards: grids with their notation, and pictures."""
