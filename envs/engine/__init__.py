"""The engine: turns any game's rules into positions, environments, batches and pictures."""
