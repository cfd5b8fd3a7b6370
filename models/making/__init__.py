"""Emits LLVM's instructions for networks; only processes that compile kernels import it."""
