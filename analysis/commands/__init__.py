"""The commands ``ludarium solve`` and ``ludarium probe``; what they can do is by game."""
