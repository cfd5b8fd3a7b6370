"""Template kernels of evaluation, specialised on use for one game's rules. Code that plays many
games from openings imports them.
"""
