"""Tests of the games and of the faces that they show."""
