"""Slow, explicit references of the games' rules, written apart from the environments they check."""
