"""Reports on a game."""
