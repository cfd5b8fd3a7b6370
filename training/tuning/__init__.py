"""Searches over keys of a configuration by Optuna: `space` says what may vary, `study` trains."""
