"""Three classics for ludarium: Connect Four, Hex and Othello.

Each is a folder: ``rules`` says how it is played, ``board`` what it is made of, ``view`` what
people see of it.
"""

from .connect_four import ConnectFour
from .hex import Hex
from .othello import Othello

__all__ = ["ConnectFour", "Hex", "Othello"]
