"""Emits LLVM's instructions for networks where kernels are compiled; no player imports it."""
