"""The engine: turns any game's rules into positions, compiled functions, texts and pictures. Import
from its modules: games are written with `game`, `rule`, `bits`, `spec`, `options`, `position_text`
and `draw`; tools play by `game`, `position` and `record`, and compile by `compile`.
"""
