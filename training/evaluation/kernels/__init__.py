"""Template kernels of evaluation, specialised on use for one game's rules. `games` and `match` call
them; `arena.units` lists them.
"""
