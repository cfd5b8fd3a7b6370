"""Template kernels of evaluation, specialised on use for one game's rules. `games`, `match` and
`arena.report` call them; `arena.units` lists them.
"""
