"""Whole games between many players: tournaments, ratings, levels of strength, reports on a game.
Import from its modules: `contest` plays, `standings` and `sprt` judge, `levels` has opponents of a
chosen strength, `report` writes a page about a game.
"""
