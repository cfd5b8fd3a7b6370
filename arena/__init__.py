"""Whole games between many players: tournaments, ratings, levels of strength, reports on a game."""
