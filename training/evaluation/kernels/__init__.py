"""Template kernels of evaluation, specialised on use for one game's rules."""
