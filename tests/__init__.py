"""Tests of every room, and what they share."""
