"""temporary"""

import ctypes
import struct

import numpy as np

from .layouts import layout_of


class _K:
    def __init__(self, name, otherwise, holds):
        self.name, self.otherwise, self.forms = name, otherwise, []

    def __call__(self, *args):
        given = tuple(map(layout_of, args))
        from .unit import fits

        for address, layouts, returned in self.forms:
            if len(given) == len(layouts) and all(map(fits, given, layouts)):
                words = []

                def put(v):
                    if v is None:
                        return
                    if isinstance(v, np.ndarray):
                        words.extend([v.ctypes.data, *v.shape, *v.strides])
                    elif isinstance(v, tuple):
                        [put(e) for e in v]
                    elif isinstance(v, (float, np.float32)):
                        words.append(struct.unpack("q", struct.pack("d", v))[0])
                    else:
                        n = int(v)
                        words.append(n - 2**64 if n >= 2**63 else n)

                for a in args:
                    put(a)
                block = (ctypes.c_int64 * (len(words) + 8))(*words)
                r = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)(
                    ctypes.addressof(block)
                )

                def conv(kind, w):
                    if kind == "n":
                        return None
                    if kind == "b":
                        return bool(w)
                    if kind == "u":
                        return w & (2**64 - 1)
                    if kind in "fg":
                        return struct.unpack("d", struct.pack("q", w))[0]
                    return w

                if returned[0] == "T":
                    return tuple(conv(k, block[i]) for i, k in enumerate(returned[1:]))
                return conv(returned, r)
        return self.otherwise(*args)


def kernel(name, otherwise, holds):
    return _K(name, otherwise, holds)


def add(k, address, layouts, returned):
    k.forms.append((address, layouts, returned))


def level():
    return "vnni"
