"""A native library from Python, for its tests."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np

ALIGNMENT = 64
_TYPES = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "void": ctypes.c_void_p,
    "char": ctypes.c_char_p,
}


class NativeGame:
    """One game of a library, with the functions of its header; errors are their negative codes.

    Args:
        folder: that was exported.
        library: the shared library in it.
    """

    def __init__(self, folder: Path, library: Path) -> None:
        (header,) = folder.glob("*.h")
        self.prefix = header.stem
        text = header.read_text(encoding="utf-8")
        self.codes = {
            name: int(code) for name, code in re.findall(r"LUDARIUM_(\w+) = (-\d+)", text)
        }
        self.actions = int(re.findall(r"_ACTIONS (\d+)", text)[0])
        self.slots = int(re.findall(r"_SLOTS (\d+)", text)[0])
        self._library = ctypes.CDLL(str(library))
        for kind, star, name, given in re.findall(
            r"_API (?:const )?(\w+) (\*?)(\w+)\(([^)]*)\)", text
        ):
            function = getattr(self._library, name)
            function.restype = _TYPES[kind] if not star else ctypes.c_char_p
            function.argtypes = [
                ctypes.c_void_p if "*" in each else _TYPES[each.split()[0]]
                for each in given.split(",")
                if each != "void"
            ]
        size = self.call("size", without_buffer=True)
        self._memory = np.zeros(size + ALIGNMENT, np.uint8)
        self.buffer = self._memory.ctypes.data + -self._memory.ctypes.data % ALIGNMENT
        self.size = size
        assert self.call("init", size) == 0

    def call(self, name: str, *arguments: object, without_buffer: bool = False) -> int:
        """Call a function by what follows the prefix; arrays are given by address."""
        given = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in arguments]
        function = getattr(self._library, f"{self.prefix}_{name}")
        return function(*([] if without_buffer else [self.buffer]), *given)

    def mask(self) -> np.ndarray:
        found = np.empty(self.actions, np.uint8)
        count = self.call("legal", found, self.actions)
        assert count == found.sum()
        return found

    def text(self, action: int) -> str:
        found = ctypes.create_string_buffer(1000)
        length = self.call("text", action, ctypes.addressof(found), 1000)
        assert length == len(found.value)
        return found.value.decode()

    def save(self) -> np.ndarray:
        found = np.zeros(self.call("save_size"), np.uint8)
        assert self.call("save", found, len(found)) == len(found)
        return found

    def think(self, most: int = 1 << 30) -> int:
        """Run the search that has begun to its end; return the action."""
        while (code := self.call("run", most)) == 1:
            pass
        assert code == 0
        return self.call("choose")
