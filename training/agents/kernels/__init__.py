"""Template kernels of the agents: compiled loops over one game's rules, specialised on use. Only
`training.agents` calls them; `arena.units` lists them.
"""
