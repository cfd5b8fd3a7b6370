"""The systems for which a library can be made, and the processors that the library tells apart."""

from __future__ import annotations

from dataclasses import dataclass

from ludarium.machine.machines import Machine, this_platform


@dataclass(frozen=True)
class Platform:
    """A system with a kind of processor.

    Attributes:
        zig: zig's name of the target.
        machines: machines, by the kind of processor, for which networks are compiled, the oldest
            first; rules and search are compiled only for the oldest. A program may choose the one
            that computes the network; else it is the last that the processor supports on x86, the
            first elsewhere.
        static, shared: names of the files, with ``{name}``; ``shared`` is None where zig has no
            linker for the system, or none of its libraries.
    """

    zig: str
    machines: dict[str, Machine]
    static: str
    shared: str | None

    @property
    def machine(self) -> Machine:
        """The machine of rules and search."""
        return next(iter(self.machines.values()))


def _machines(triple: str, *kinds: str, processor: str = "") -> dict[str, Machine]:
    return {kind: Machine.of_kind(kind, triple, processor) for kind in kinds}


def _x86(triple: str) -> dict[str, Machine]:
    return _machines(triple, "v2", "v3", "vnni")


def _arm(triple: str, processor: str = "generic") -> dict[str, Machine]:
    return _machines(triple, "neon", "dotprod", processor=processor)


_STATIC, _LINUX = "lib{name}.a", "lib{name}.so"
#: The targets by their names for ``--target``.
TARGETS = {
    "x86_64-linux": Platform(
        "x86_64-linux-musl", _x86("x86_64-unknown-linux-gnu"), _STATIC, _LINUX
    ),
    "aarch64-linux": Platform(
        "aarch64-linux-musl", _arm("aarch64-unknown-linux-gnu"), _STATIC, _LINUX
    ),
    "x86_64-windows": Platform(
        "x86_64-windows-gnu", _x86("x86_64-w64-windows-gnu"), _STATIC, "{name}.dll"
    ),
    "arm64-macos": Platform(
        "aarch64-macos.11.0",
        # Every Arm Mac has dot products.
        _machines("arm64-apple-macosx11.0.0", "dotprod", processor="apple-m1"),
        _STATIC,
        "lib{name}.dylib",
    ),
    "x86_64-macos": Platform(
        "x86_64-macos.11.0", _x86("x86_64-apple-macosx11.0.0"), _STATIC, "lib{name}.dylib"
    ),
    "arm64-android": Platform(
        "aarch64-linux-musl", _arm("aarch64-unknown-linux-android21"), _STATIC, None
    ),
    "arm64-ios": Platform(
        "aarch64-ios.14.0", _arm("arm64-apple-ios14.0.0", "apple-a12"), _STATIC, None
    ),
}


def this_machine() -> str:
    """The name of the target for the machine on which this runs.

    Raises:
        ValueError: it is none of `TARGETS`.
    """
    name = this_platform().replace("arm64-linux", "aarch64-linux")
    if name not in TARGETS:
        raise ValueError(f"no library is made for {name}; accepted: {', '.join(TARGETS)}")
    return name
