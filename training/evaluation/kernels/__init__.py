"""Template kernels of evaluation, specialised on use for one game's rules. Whatever plays many
games from openings imports them.
"""
