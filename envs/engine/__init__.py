"""The engine: one of each face (position, PettingZoo, batch, Gymnasium, picture) for any game."""
