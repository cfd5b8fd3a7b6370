"""Connect Four: drop stones into columns, four in a row win."""

from .board import ConnectFour

__all__ = ["ConnectFour"]
