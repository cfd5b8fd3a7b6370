"""Compiled parts of self-play. `training.alphazero`, `training.cluster` and `arena` import them."""
