"""Puzzles: positions in which one move alone keeps the win, or the draw, by how hard it is to find.

A file is lines of JSON. The first line describes the set, and has the SHA-256 of all that follows;
each of the others is a `Puzzle`. The values are exact, and the
difficulty is measured: by which of the game's levels find the move.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ludarium.analysis.exact_tests import (
    FEW,
    LIMIT,
    ExactPosition,
    exact_positions,
    find_exact_test,
    shipped_test,
)
from ludarium.analysis.lines import Head, read_each, read_lines, write_lines
from ludarium.analysis.solver import after
from ludarium.base.files import MEGABYTE, sha256_of
from ludarium.base.messages import named, quoted
from ludarium.base.numbers import SEED_LIMIT, checked_whole
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, make_agent

from .ladder import WORDS, find_ladder

#: The bands, from easy to hard: the first of these levels that finds the move in most tries; the
#: last one also has the puzzles that no level solves.
BANDS = WORDS[1:]
#: Puzzles of a band.
PER_BAND = 40
#: Rounds of games after which a set ends, though bands may have room.
ROUNDS = 50
SEED = 1

_PER_GAME = 3  # most puzzles of one game
_AT_ONCE = 0.5  # largest share of `per_band` for puzzles whose move wins at once
_GAMES = 32  # games of a round
_TRIES = 9  # decisions of each level
_FORMAT = "ludarium puzzles 1"
_SUFFIX = ".puzzles.jsonl"
_LARGEST_FILE = 4 * MEGABYTE


@dataclass(frozen=True)
class Puzzle:
    """One puzzle.

    Attributes:
        id: the beginning of a digest of the position, the same for symmetric ones.
        band: one of `BANDS`.
        value: ``win`` or ``draw``, the exact value for the player to move.
        best: the only move that keeps it.
        position: the position as text.
        moves: the moves that lead there from the start.
        solved: how many of 9 tries of each level of `BANDS` found the move.
        at_once: whether the move wins at once.
        draws: in a won position, the moves that only draw.
        seed: the seed of the start; it matters where that is random.
    """

    id: str
    band: Literal["easy", "medium", "hard", "expert", "strongest"]
    value: Literal["win", "draw"]
    best: str
    position: str
    moves: list[str]
    solved: dict[str, int]
    at_once: bool = False
    draws: list[str] = field(default_factory=list)
    seed: int = 0


@dataclass(frozen=True)
class PuzzleSet:
    """Puzzles of a game, the easy ones first, no two alike or symmetric.

    Attributes:
        game: the rules.
        puzzles: the puzzles.
        made: how they were made: ``seed``, ``limit``, ``tries`` of each level, ``per_band``, and
            the ``rounds`` of games so far.
    """

    game: Game
    puzzles: tuple[Puzzle, ...]
    made: dict[str, int]

    @property
    def bands(self) -> dict[str, int]:
        """The number of puzzles of each band."""
        counts = Counter[str](puzzle.band for puzzle in self.puzzles)
        return {band: counts[band] for band in BANDS}


class _Head(Head):
    """The first line of a file."""

    format: Literal["ludarium puzzles 1"]
    made: dict[str, int]


def canonical_key(codec: Codec, position: Position) -> str:
    """12 hexadecimal digits of a digest of what the mover sees, the same for symmetric positions.

    Args:
        codec: encodes the game's positions.
        position: the position.
    """
    every = np.arange(len(codec.symmetries))
    states = np.repeat(position.states, len(every))
    images = codec.encode(states, every).observations
    return sha256_of(min(image.tobytes() for image in images))[:12]


def make_puzzles(
    game: Game,
    seed: int = SEED,
    *,
    per_band: int = PER_BAND,
    rounds: int = ROUNDS,
    limit: int = LIMIT,
    file: Path | None = None,
    progress: Progress = SILENT,
) -> PuzzleSet:
    """Make puzzles from the game's hard exact test, if it has one, and from games of its levels.

    A single action keeps the value, of at least five. Either it wins at once (at most half of
    ``per_band`` in each band), or the position is hard, as exact tests mean it. The same
    arguments give the same puzzles, also after an interruption.

    Args:
        game: the rules, with a ladder of levels.
        seed: the seed of everything drawn.
        per_band: how many puzzles each of `BANDS` gets at most.
        rounds: most rounds, each of 32 games, except that the hard exact test is the first if there
            is one; the making ends sooner if all bands are full.
        limit: node limit for the actions of one position; see `make_exact_test`.
        file: file that is written after each round. If it exists, the making goes on after the
            rounds that it has.
        progress: counts the rounds; stopping it ends the making after the last whole round.

    Raises:
        ValueError: a number is out of range; the file is damaged, or was made with other arguments.
        FileNotFoundError: the game has no levels.
        OSError: the file cannot be written.
    """
    rounds = checked_whole("rounds", rounds, 1)
    asked = {
        "seed": checked_whole("seed", seed, 0, SEED_LIMIT - 1),
        "limit": checked_whole("limit", limit, 1),
        "tries": _TRIES,
        "per_band": checked_whole("per_band", per_band, 1),
    }
    find_ladder(game)
    made = PuzzleSet(game, (), {**asked, "rounds": 0})
    if file is not None and file.exists():
        made = read_puzzles(file)
        others = {key: value for key, value in made.made.items() if key != "rounds"}
        if made.game != game or others != asked:
            raise ValueError(
                f"{named(file)} has puzzles of {made.game}, made with {others}: give "
                "the same arguments to go on, or another file"
            )
    agents = {band: make_agent(f"level:{band}", game) for band in BANDS}
    done = made.made["rounds"]
    progress.begin(f"rounds of {_GAMES} games", rounds, done)
    for number in range(done, rounds):
        if min(made.bands.values()) >= per_band:
            break
        rng = np.random.default_rng([asked["seed"], number])
        candidates = _candidates(game, agents, number, limit, rng, progress)
        if candidates is None:
            break
        made = _with_more(made, candidates, agents, rng)
        if file is not None:
            write_puzzles(file, made)
        progress.advance(1, ", ".join(f"{band} {count}" for band, count in made.bands.items()))
    return made


def _candidates(
    game: Game,
    agents: dict[str, Agent],
    number: int,
    limit: int,
    rng: np.random.Generator,
    progress: Progress,
) -> list[list[ExactPosition]] | None:
    """Positions for puzzles, game by game, from a round; None if it was stopped."""
    if number == 0 and shipped_test(game) is not None:
        games = _hard_games(game)
    else:
        agent = agents[BANDS[number % len(BANDS)]]
        agent.restart(int(rng.integers(1 << 32)))
        games = islice(exact_positions(game, agent, rng, limit), _GAMES)
    found = []
    for positions in games:
        if progress.stopped:
            return None
        found.append([each for each in positions if _is_puzzle(each)])
    return found


def _is_puzzle(found: ExactPosition) -> bool:
    few = len(found.optimal) == 1 <= FEW * len(found.results)
    return few and (_wins_at_once(found) or found.is_hard)


def _wins_at_once(found: ExactPosition) -> bool:
    best = found.optimal[0]
    return found.results[best] == 1 and after(found.position, best).is_over


def _hard_games(game: Game) -> Iterator[list[ExactPosition]]:
    """The positions of the game's hard test, together if one continues another."""
    positions = sorted(
        find_exact_test("hard", game).positions, key=lambda each: (each.seed, each.actions)
    )
    together: list[ExactPosition] = []
    for each in positions:
        if together and not each.continues(together[-1]):
            yield together
            together = []
        together.append(each)
    yield together


def _with_more(
    made: PuzzleSet,
    candidates: list[list[ExactPosition]],
    agents: dict[str, Agent],
    rng: np.random.Generator,
) -> PuzzleSet:
    """The set with those candidates for which their bands have room."""
    codec = Codec(made.game)
    known = {puzzle.id for puzzle in made.puzzles}
    games = []
    for positions in candidates:
        new = {canonical_key(codec, each.position): each for each in positions}
        games.append({key: each for key, each in new.items() if key not in known})
        known |= new.keys()
    every = [each for new in games for each in new.values()]
    if not every:
        return _sorted(made, made.puzzles)
    states = np.concatenate([each.position.states for each in every])
    best = np.array([each.optimal[0] for each in every])
    solved = {}
    for band, agent in agents.items():
        agent.restart(int(rng.integers(1 << 32)))
        chosen = agent.actions(np.tile(states, _TRIES)).reshape(_TRIES, len(every))
        solved[band] = (chosen == best).sum(axis=0)
    per_band = made.made["per_band"]
    room = {(band, False): per_band - count for band, count in made.bands.items()}
    at_once = Counter[str](puzzle.band for puzzle in made.puzzles if puzzle.at_once)
    room |= {(band, True): int(_AT_ONCE * per_band) - at_once[band] for band in BANDS}
    more, place = [], 0
    for new in games:
        taken = 0
        for key, each in new.items():
            counts = {band: int(solved[band][place]) for band in BANDS}
            place += 1
            band = next((word for word in BANDS if counts[word] > _TRIES // 2), BANDS[-1])
            kinds = {(band, False), (band, _wins_at_once(each))}
            if taken < _PER_GAME and all(room[kind] > 0 for kind in kinds):
                taken += 1
                for kind in kinds:
                    room[kind] -= 1
                more.append(_puzzle(made.game, key, band, counts, each))
    return _sorted(made, [*made.puzzles, *more])


def _sorted(made: PuzzleSet, puzzles: Sequence[Puzzle]) -> PuzzleSet:
    """The set after a round, with these puzzles, the easy ones first."""
    order = sorted(
        puzzles, key=lambda each: (BANDS.index(each.band), -sum(each.solved.values()), each.id)
    )
    return replace(
        made, puzzles=tuple(order), made={**made.made, "rounds": made.made["rounds"] + 1}
    )


def _puzzle(
    game: Game, key: str, band: Any, solved: dict[str, int], found: ExactPosition
) -> Puzzle:
    texts = {action: found.position.action_to_text(action) for action in found.results}
    (best,) = found.optimal
    is_won = found.results[best] == 1
    return Puzzle(
        id=key,
        band=band,
        value="win" if is_won else "draw",
        best=texts[best],
        position=found.position.text,
        moves=game.start(found.seed).play_all(found.actions),
        solved=solved,
        at_once=_wins_at_once(found),
        draws=[texts[each] for each, result in found.results.items() if is_won and result == 0],
        seed=found.seed if game.random_start else 0,
    )


def write_puzzles(path: str | os.PathLike[str], puzzles: PuzzleSet) -> None:
    """Write a set to a file, atomically.

    Raises:
        OSError: the file cannot be written.
    """
    body = b"".join(msgspec.json.encode(each) + b"\n" for each in puzzles.puzzles)
    write_lines(path, _FORMAT, puzzles.game, puzzles.made, body)


def read_puzzles(path: str | os.PathLike[str]) -> PuzzleSet:
    """Read a set from a file, which may come from a stranger.

    Each puzzle's ``moves`` are played by the rules, and must lead to its position, in which
    ``best`` and ``draws`` must be legal; that ``best`` alone keeps the value is trusted.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no set of puzzles, or was changed; the message says where.
    """
    return read_lines(path, "set of puzzles", _LARGEST_FILE, _Head, _read_puzzles)


def _read_puzzles(game: Game, made: dict[str, Any], lines: Sequence[bytes]) -> PuzzleSet:
    """The set of a file's lines."""
    if "rounds" not in made or "per_band" not in made:
        raise ValueError("made has no rounds and per_band")
    puzzles = tuple(read_each(lines, Puzzle, partial(_checked, Codec(game))))
    if len({puzzle.id for puzzle in puzzles}) < len(puzzles):
        raise ValueError("two of its puzzles are alike")
    return PuzzleSet(game, puzzles, made)


def _checked(codec: Codec, puzzle: Puzzle) -> Puzzle:
    """The puzzle, if it is one as far as `read_puzzles` checks."""
    if not 0 <= puzzle.seed < SEED_LIMIT:
        raise ValueError(f"seed is {quoted(puzzle.seed)}; accepted: 0 to 2**128 - 1")
    position = codec.game.start(puzzle.seed)
    for move in puzzle.moves:
        position.play(position.text_to_action(move))
    if position.is_over or position.text != puzzle.position:
        raise ValueError("the moves do not lead to the position")
    if puzzle.id != canonical_key(codec, position):
        raise ValueError(f"{quoted(puzzle.id)} is not the id of the position")
    for move in (puzzle.best, *puzzle.draws):
        position.text_to_action(move)
    return puzzle


def puzzles_of(name: str) -> Path | None:
    """The file of puzzles that ships for the game of this name; None if there is none."""
    path = Path(__file__).with_name("puzzle_sets") / f"{name}{_SUFFIX}"
    return path if path.is_file() else None
