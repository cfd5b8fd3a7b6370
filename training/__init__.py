"""Agents, search, self-play training, evaluation: games and networks meet here."""
