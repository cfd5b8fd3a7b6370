"""Game records: a finished or unfinished game as a small JSON-ready dict, and back.

    {"game": "corso", "version": 0, "options": {"size": 5}, "seed": 7,
     "moves": ["c3", "b3", "c3!"], "result": null,
     "notes": {"2": "too near"},
     "variations": {"2": [{"moves": ["b4", "c4"], "notes": {"3": "the other way"}}]}}

``result`` holds the final rewards, or ``None`` while the game goes on. Where the moves do not end
the game, a ``result`` with a winner says who has lost it: by resigning, or by an illegal action,
whose name is then in ``illegal_action``. Any other ``result`` is not checked.
``seed`` matters where the start is random. ``position`` is the text of the position that the game
began at; it is missing where that is the game's start. ``notes`` and ``variations`` may be missing:
they hold texts, and lists of other lines, by the number of the move that they belong to. A line has
the keys ``moves``, ``notes`` and ``variations``, and its first move replaces that move. Moves are
numbered from the first one of the record, in variations too. ``play/js/record.js`` reads and writes
the same format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ludarium.base.files import MEGABYTE, load_json, read_regular_file
from ludarium.base.messages import named, quoted, shortened
from ludarium.base.numbers import SEED_LIMIT

from .game import Game
from .options import check_stored
from .position import Position, split_moves, starts_in

#: Limits on the depth of variations, and on the moves of all variations together.
MOST_DEPTH = 8
MOST_VARIED_MOVES = 10_000

_LARGEST_FILE = 4 * MEGABYTE
_REQUIRED = ("game", "version", "options", "moves")
_NUMBER = re.compile("[1-9][0-9]{0,8}")


class Forfeit(NamedTuple):
    """How a game was lost that by the rules goes on.

    Attributes:
        player: who has lost it, 0 or 1.
        action: the illegal action that lost it; None: the player has resigned.
    """

    player: int
    action: int | None = None

    @property
    def rewards(self) -> tuple[int, int]:
        """The rewards of both players."""
        return (-1, 1) if self.player == 0 else (1, -1)

    def told(self, game: Game) -> str:
        """How the game ended, in a few words."""
        if self.action is None:
            return f"player_{self.player} has resigned"
        return (
            f"player_{self.player} has lost by an illegal action, {game.action_names[self.action]}"
        )


class RecordedGame(NamedTuple):
    """The game of a record.

    Attributes:
        game: the rules, with their options.
        seed: seed of the start.
        start: the text of the position that it began at; None for the game's start.
        actions: the action numbers.
        forfeit: how it was lost if the actions do not end it.
    """

    game: Game
    seed: int
    start: str | None
    actions: Sequence[int] = ()
    forfeit: Forfeit | None = None

    def to_record(self) -> dict[str, Any]:
        """The game as a record.

        Raises:
            ValueError: an action is not legal, or there is no such start.
        """
        end = self.game.start(self.seed, self.start)
        record = _record_of(self.game, self.seed, self.start, end.play_all(self.actions))
        if end.is_over:
            record["result"] = list(end.rewards)
        if self.forfeit is not None:
            record["result"] = list(self.forfeit.rewards)
            if self.forfeit.action is not None:
                record["illegal_action"] = self.game.action_names[self.forfeit.action]
        return record


def _record_of(game: Game, seed: int, start: str | None, moves: list[str]) -> dict[str, Any]:
    """The record of a game that goes on after these moves."""
    return {
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "seed": seed,
        **({} if start is None else {"position": start}),
        "moves": moves,
        "result": None,
    }


def read_record_file(
    path: str | os.PathLike[str],
    game: Game | None = None,
    seed: int = 0,
    start: str | None = None,
) -> dict[str, Any]:
    """Read the record in a file, or a plain list of moves; `check_record` validates it.

    Args:
        path: path of the file.
        game: the game of a plain list of moves (see `split_moves`); None reads records only.
        seed, start: seed of the start, or the text of a position that it began at, for a plain
            list.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds neither a record nor a text, cannot be read, or is too large.
    """
    name = named(path)
    content = read_regular_file(path, _LARGEST_FILE, "a game record")
    if game is not None and not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        try:
            moves = split_moves(game, content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise ValueError(f"{name} holds neither a game record nor moves as text") from None
        return _record_of(game, seed, start, moves)
    record = load_json(content, f"a game record in {name}")
    if not isinstance(record, dict):
        raise ValueError(f"{name} holds no game record, but {_kind(record)}")
    return record


def check_record(
    record: Any, games: Mapping[str, type[Game]], what: str = "the game record"
) -> RecordedGame:
    """Read a record, which may come from a stranger.

    Args:
        record: as this module describes it; other keys are ignored.
        games: the classes of the games that may be played, by name.
        what: the record's name, for errors.

    Returns:
        The game; its actions are legal. The moves of variations are checked too.

    Raises:
        ValueError: something is missing, unknown, illegal or beyond a limit; the message names it.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"{what} is {_kind(record)}; a game record is a mapping")
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise ValueError(f"{what} lacks {', '.join(missing)}")
    name, version, seed = record["game"], record["version"], record.get("seed", 0)
    if not isinstance(name, str) or name not in games:
        raise ValueError(f"{what} is of {quoted(name)}; known games: {', '.join(games)}")
    game_class = games[name]
    if type(version) is not int or version != game_class.version:
        raise ValueError(
            f"{what} is for version {quoted(version)} of {name}, and this program has version "
            f"{game_class.version}, with other rules or notation"
        )
    if type(seed) is not int or not 0 <= seed < SEED_LIMIT:
        raise ValueError(
            f"seed of {what} is {quoted(seed)}; it must be an integer from 0 to 2**128 - 1"
        )
    check_line(record, what)
    try:
        game = game_class(**check_stored(game_class.option_list, record["options"]))
    except ValueError as error:
        raise ValueError(f"{what}: {shortened(str(error), 350)}") from None
    start = record.get("position")
    try:
        starts = None if start is None else starts_in(game, {"position": [start]})
    except ValueError as error:
        raise ValueError(f"position of {what}: {shortened(str(error), 350)}") from None
    position = game.start(seed) if starts is None else starts[0].copy()
    actions = _play(position, record, 1, what)
    return RecordedGame(game, seed, start, actions, _forfeit(position, record, what))


def _forfeit(position: Position, record: Mapping[str, Any], what: str) -> Forfeit | None:
    """How the game was lost at its last position, if the rules let it go on there."""
    result, name = record.get("result"), record.get("illegal_action")
    rewards = tuple(result) if isinstance(result, list | tuple) else None
    loser = next((player for player in (0, 1) if rewards == Forfeit(player).rewards), None)
    if name is None:
        return None if loser is None or position.is_over else Forfeit(loser)
    names = list(position.game.action_names)
    action = names.index(name) if name in names else -1
    if action < 0 or position.is_over or position.mask[action]:
        raise ValueError(
            f"illegal_action of {what} is {quoted(name)}, which is not the name of an action that "
            "is illegal after its moves"
        )
    if loser != position.mover:
        raise ValueError(
            f"result of {what} is {quoted(result)}; player_{position.mover} has lost by an illegal "
            f"action: write {list(Forfeit(position.mover).rewards)}"
        )
    return Forfeit(loser, action)


def check_line(line: Mapping[str, Any], what: str, first: int = 1, depth: int = 0) -> int:
    """Check that moves, notes and variations are well formed; they need not be legal.

    Args:
        line: a record, or a variation.
        what: its name, for errors.
        first: the number of its first move.
        depth: how many variations it is within.

    Returns:
        How many moves its variations have altogether.

    Raises:
        ValueError: something is malformed or beyond a limit; the message names it.
    """
    moves = line.get("moves")
    if not isinstance(moves, list | tuple):
        raise ValueError(f"moves of {what} are {quoted(moves)}; they must be a list of texts")
    for number, text in enumerate(moves, first):
        if not isinstance(text, str):
            raise ValueError(f"move {number} of {what} is {quoted(text)}, not a text")
    for number, note in _by_move(line, "notes", first, what):
        if not isinstance(note, str):
            raise ValueError(f"the note on move {number} of {what} is {quoted(note)}, not a text")
    varied = 0
    for number, others in _by_move(line, "variations", first, what):
        where = f"move {number} of {what}"
        if not isinstance(others, list):
            raise ValueError(f"the variations of {where} are {quoted(others)}, not a list")
        if depth == MOST_DEPTH:
            raise ValueError(f"{where} is within {MOST_DEPTH} variations and has another")
        for other in others:
            if not isinstance(other, Mapping) or not other.get("moves"):
                raise ValueError(
                    f"a variation of {where} is {quoted(other)}; it must be a mapping with moves"
                )
            varied += check_line(other, _varied(what, number), number, depth + 1)
            varied += len(other["moves"])
            if varied > MOST_VARIED_MOVES:
                raise ValueError(f"the variations of {what} have over {MOST_VARIED_MOVES:,} moves")
    return varied


def _by_move(line: Mapping[str, Any], key: str, first: int, what: str) -> list[tuple[int, Any]]:
    """A line's value under a key, with the numbers of the moves as integers."""
    found = line.get(key, {})
    if not isinstance(found, Mapping):
        raise ValueError(f"{key} of {what} are {quoted(found)}; they must be a mapping by move")
    last = first + len(line["moves"]) - 1
    for number in found:
        is_number = isinstance(number, str) and _NUMBER.fullmatch(number)
        if not is_number or not first <= int(number) <= last:
            raise ValueError(
                f'{key} of {what} name move {quoted(number)}; accepted: "{first}" to "{last}"'
            )
    return [(int(number), value) for number, value in found.items()]


def _varied(what: str, number: int) -> str:
    """The name of a variation of a move, for errors."""
    return f"{what.partition(', in a variation')[0]}, in a variation of move {number}"


def _play(position: Position, line: Mapping[str, Any], first: int, what: str) -> list[int]:
    """Play the moves of a line that `check_line` has accepted; return their action numbers."""
    variations = line.get("variations", {})
    actions = []
    for number, text in enumerate(line["moves"], first):
        for other in variations.get(str(number), ()):
            _play(position.copy(), other, number, _varied(what, number))
        try:
            action = position.text_to_action(text)
        except ValueError as error:
            raise ValueError(f"move {number} of {what}: {shortened(str(error), 300)}") from None
        position.play(action)
        actions.append(action)
    return actions


def _kind(value: Any) -> str:
    return type(value).__name__
