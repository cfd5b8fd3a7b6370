"""Two levels of Corso play a game, by the native library: Python alone, without the package.

ludarium export corso --as c
python examples/native/opponent.py corso-c/x86_64-linux/libludarium_corso.so
"""

import ctypes
import sys

ALIGNMENT, TEXT_BYTES = 64, 100


class Corso:
    """A game and the opponent in it."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._library.ludarium_corso_size.restype = ctypes.c_int64
        self._library.ludarium_corso_error.restype = ctypes.c_char_p
        size = self._library.ludarium_corso_size()
        self._memory = ctypes.create_string_buffer(size + ALIGNMENT)
        start = ctypes.addressof(self._memory)
        self._buffer = ctypes.c_void_p(start + -start % ALIGNMENT)
        self.call("init", ctypes.c_int64(size))

    def call(self, name: str, *arguments: object) -> int:
        """Call ``ludarium_corso_NAME``; raise ValueError with the error's text if it fails."""
        code: int = getattr(self._library, f"ludarium_corso_{name}")(self._buffer, *arguments)
        if code < 0:
            raise ValueError(self._library.ludarium_corso_error(code).decode())
        return code

    def text(self, action: int) -> str:
        """The text of an action."""
        text = ctypes.create_string_buffer(TEXT_BYTES)
        self.call("text", action, text, ctypes.c_int64(TEXT_BYTES))
        return text.value.decode()

    def think(self, level: int, seed: int) -> int:
        """The action that a level chooses."""
        self.call("begin_level", level, ctypes.c_int64(seed))
        while self.call("run", 8) == 1:
            pass  # a video game draws its next frame here
        return self.call("choose")


def main() -> None:
    """Play the game."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    library = sys.argv[1]
    game = Corso(library)
    best = ctypes.CDLL(library).ludarium_corso_levels()
    while game.call("outcome") == 0:
        ply = game.call("plies")
        action = game.think(1 if ply % 2 else best, ply)
        print(game.text(action), end=" ")
        game.call("play", action)
    print(f"\noutcome {game.call('outcome')} after {game.call('plies')} plies")


if __name__ == "__main__":
    main()
