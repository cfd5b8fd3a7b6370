"""The engine: turns any game's rules into positions, environments, batches and pictures. Import
from its modules: games are written with `rule`, `spec`, `options` and `draw`; tools play by `game`,
`position` and `record`, and compile by `compile`.
"""
