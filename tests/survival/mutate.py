"""Makes hostile files out of good ones, the same ones for the same seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

LARGEST = 200_000

_TOKENS = [
    *(b"[", b"]", b"{", b"}", b'"', b"'", b":", b",", b"&a ", b"*a", b"!!int ", b"<<: ", b"- "),
    *(b"null", b"NaN", b"Infinity", b"-1", b"1e999", b"0x", b"1" * 60, b"9" * 5000, b"true"),
    *(b"\0", b"\x1b[31m", b"\r\n", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"/dev/zero"),
    *(b"[" * 2000, b'{"a":' * 2000, b"- " * 2000, b"? " * 500, b"#" * 3000, b"=", b"%YAML 9.9\n"),
]

_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 255, 2**31, 2**63, 2**64, 10**30, -(10**39), 0.5, -0.0),
    *(1e308, float("nan"), float("inf"), "", "a1", "\x1b[2J\n\0", "x" * 5000, "\ud800", "self"),
    *("/dev/zero", "/dev/stdin", [], [[]], [None], {}, {"": 0}, {"self": 1}, ["/dev/zero"] * 3),
    *([0] * 20_000, [[0, 0, 0]] * 5000, {f"k{n}": n for n in range(3000)}, "__import__('os')"),
]
_KEYS = ["self", "", "options", "blocks", "__class__", "size", "\n\x1b", "k" * 3000, "game"]


def _deep(depth: int, as_list: bool) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if as_list else {"a": value}
    return value


def hostile_value(rng: random.Random) -> Any:
    """Some JSON value that nobody expects."""
    if rng.random() < 0.1:
        return _deep(rng.choice([5, 40, 300]), rng.random() < 0.5)
    return copy.deepcopy(rng.choice(_VALUES))


def mutate_data(data: Any, rng: random.Random) -> Any:
    """A copy with some places of it changed, taken out, multiplied or renamed."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        data = _mutate_once(data, rng)
    return data


def _mutate_once(data: Any, rng: random.Random) -> Any:
    if not isinstance(data, list | dict) or not data or rng.random() < 0.05:
        return hostile_value(rng)
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    key = rng.choice(keys)
    if isinstance(data[key], list | dict) and data[key] and rng.random() < 0.7:
        data[key] = _mutate_once(data[key], rng)
        return data
    what = rng.randrange(5)
    if what == 0:
        del data[key]
    elif what == 1 and isinstance(data, dict):
        data[rng.choice(_KEYS)] = data[key]
    elif what == 1:
        data.insert(rng.randrange(len(data) + 1), hostile_value(rng))
    elif what == 2 and isinstance(data, list):
        times = [1, 4] if isinstance(data[key], list | dict) else [1, 50, 3000]
        data.extend([data[key]] * rng.choice(times))
    else:
        data[key] = hostile_value(rng)
    return data


def damaged(content: bytes, flips: int, seed: str) -> Iterator[tuple[str, bytes]]:
    """The content cut at every 64th byte, and with one bit flipped ``flips`` times; and how."""
    for end in range(0, len(content), 64):
        yield f"cut at {end}", content[:end]
    rng = random.Random(seed)
    for bit in (rng.randrange(8 * len(content)) for _ in range(flips)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit}", bytes(changed)


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """The bytes with some flipped, cut out, doubled, or others put in."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        begin = rng.randrange(len(changed) + 1)
        end = min(len(changed), begin + rng.choice([1, 1, 4, 30, 1000]))
        what = rng.randrange(6)
        if what == 0 and begin < len(changed):
            changed[begin] ^= 1 << rng.randrange(8)
        elif what == 1:
            del changed[begin:end]
        elif what == 2:
            changed[begin:begin] = changed[begin:end] * rng.choice([1, 3, 100])
        elif what == 3:
            changed[begin:begin] = rng.choice(_TOKENS)
        elif what == 4:
            changed[begin:end] = rng.randbytes(end - begin)
        else:
            del changed[begin + rng.randrange(1000) :]
    return bytes(changed[:LARGEST])


def wrong_text(texts: Sequence[str], rng: random.Random) -> str:
    """One of the texts of positions with some signs changed, or worse."""
    text = rng.choice(texts)
    if rng.random() < 0.2:
        return mutate_bytes(text.encode(), rng).decode(errors="surrogateescape")
    signs, others = list(text), "0123456789/|=,*- " + "".join(texts)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(signs) + 1)
        signs[place : place + rng.randrange(2)] = rng.choice(others) * rng.randrange(3)
    return "".join(signs)


def as_text(data: Any) -> bytes:
    """Data as JSON, which YAML is too, NaN and lone surrogates included."""
    return json.dumps(data)[:LARGEST].encode()
