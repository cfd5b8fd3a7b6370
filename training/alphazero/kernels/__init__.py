"""Compiled parts of self-play. Only `training.alphazero` and `training.cluster` import them."""
