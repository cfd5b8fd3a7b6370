"""Games as text for language models: questions, made of `Prompts`, and the reader of answers.

    messages = PROMPTS.opening(position, shows_legal=True)      # a conversation, to be sent
    said = read_answer(position, "I take the centre. <move>c3</move>")
    said.action, said.move, said.reason                         # 12, "c3", ""

An answer is text by a stranger: it is read as a move, and never as anything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from ludarium.base.messages import quoted, shortened
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position

#: A message of a conversation: its ``role`` and its ``content``.
Message = dict[str, str]

#: Most characters that are read of an answer, from its end, where the move is.
MOST_ANSWER = 20_000

_MOST_MOVE = 100  # characters of a move
_MOST_LINE = 400  # characters that are read of a line
_MOST_REASON = 300
_EXAMPLES = 6

Fault = Literal["", "unread", "malformed", "illegal"]
_OPEN, _CLOSE, _END = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"<think(?:ing)?>", r"</think(?:ing)?>", r"</move>")
)
_TAG = re.compile(r"<move>", re.IGNORECASE)
_LABEL = re.compile(
    r"[^\w\n]{0,9}(?:(?:my|best|next|final|chosen|the) ){0,3}(?:move|answer|action)"
    r"[\"'*`]{0,4}(?: is)?[\"'*` ]{0,4}[:=](.+)",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\(?:boxed|text)\{([^{}]*)\}")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_AROUND = "\"'`*_$()[]{}\u201c\u201d\u2018\u2019 \t"  # what may stand around a move


@dataclass(frozen=True)
class Said:
    """What an answer says.

    Attributes:
        move: the text that was read as the move; empty if there is none, or a very long one.
        action: its action number; None if it is no legal move.
        fault: why it is none: ``unread``, no move was found (what is marked is empty or very long,
            or nothing is marked and the last line is no move); ``malformed``, what is marked is not
            the game's notation; ``illegal``, it may not be played now. Empty for a legal move.
        reason: the fault in words; empty for a legal move.
    """

    move: str
    action: int | None
    fault: Fault = ""
    reason: str = ""


def read_answer(position: Position, text: str) -> Said:
    """Read the move that an answer ends with: tolerant in form, strict in meaning.

    The last ``<move>`` tag counts, without one the last line such as ``Move: c3``, without that
    the whole last line. Quotes, Markdown, capitals and kinds of dashes make no difference. An
    earlier move never replaces the last one. Text within ``<think>`` is not read, nor what stands
    before ``</think>``.

    Args:
        position: the position, not finished.
        text: the answer; its last `MOST_ANSWER` characters are read.
    """
    is_marked, text = _last(text[-MOST_ANSWER:])
    move = _cleaned(text)
    if not move or len(move) > _MOST_MOVE:
        return Said("", None, "unread", "no move was found at the end of the answer")
    game = position.game
    try:
        action = game.text_to_action(position, move.lower())
    except ValueError as error:
        fault: Fault = "malformed" if is_marked else "unread"
        fault = "illegal" if move.lower() in game.words else fault
        return Said(move, None, fault, shortened(str(error), _MOST_REASON))
    if not position.mask[action]:
        reason = f"{quoted(move)} is not legal now: {position.why_illegal(action)}"
        return Said(move, None, "illegal", shortened(reason, _MOST_REASON))
    return Said(move, action)


def _last(text: str) -> tuple[bool, str]:
    """Whether a tag or a label marks the move of an answer, and the text that stands for it."""
    text = _OPEN.split(_CLOSE.split(text)[-1])[0]
    *before, rest = _TAG.split(text)
    if before:
        inside, *closed = _END.split(rest, maxsplit=1)
        return True, inside if closed else rest.strip().partition("\n")[0]
    lines = [line for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if (match := _LABEL.match(line[:_MOST_LINE])) is not None:
            return True, match[1]
    return False, lines[-1] if lines else ""


def _cleaned(text: str) -> str:
    """A move without what stands around it."""
    move = text[:_MOST_LINE].strip()
    while (match := _BOXED.search(move)) is not None:
        move = match[1]
    move = move.strip(_AROUND).rstrip(".,;").strip(_AROUND).translate(_DASHES)
    return " ".join(re.sub(r" *- *", "-", move).split())


class Prompts(msgspec.Struct, frozen=True):
    """The texts of questions, with ``{names}`` that are replaced; ``prompts.json`` has them.

    Attributes:
        version: a change of any text needs a new one, because answers depend on it.
        system: the first message: rules, notation, and how to answer.
        turn: the question in a position.
        history: the part of ``turn`` with the moves so far, if they are known.
        legal: the part of ``turn`` with the legal moves, on request.
        again: the question after an answer without a legal move.
        help: by game, the commands (`Terminal.answer`) whose answers a question has too.
    """

    version: int
    system: str
    turn: str
    history: str
    legal: str
    again: str
    help: dict[str, list[str]]

    def opening(
        self, position: Position, moves: Sequence[str] | None = None, shows_legal: bool = False
    ) -> list[Message]:
        """The conversation that asks for a move.

        Args:
            position: the position, not finished.
            moves: the moves that led to it; None: they are not known.
            shows_legal: list the legal moves.
        """
        return [
            {"role": "system", "content": self.rules(position.game)},
            {"role": "user", "content": self.question(position, moves, shows_legal)},
        ]

    def rules(self, game: Game) -> str:
        """The first message: everything that is the same in every position."""
        options = ", ".join(f"{name}={value}" for name, value in game.options.items())
        rules, examples = _rules_and_examples(game)
        return self.system.format(
            title=game.title,
            rules=rules or game.summary,
            options=options or "none",
            examples=", ".join(examples),
            notation=f" A move is its action's name, {game.notation}." * bool(game.notation),
            example=examples[0],
        )

    def question(
        self, position: Position, moves: Sequence[str] | None = None, shows_legal: bool = False
    ) -> str:
        """The question in a position; arguments as for `opening`."""
        game = position.game
        legal = [position.action_to_text(action) for action in position.legal_actions.tolist()]
        told = [_help(position, command) for command in self.help.get(game.name, ())]
        return self.turn.format(
            history="" if moves is None else self.history.format(moves=", ".join(moves) or "none"),
            board=position.board_text(),
            position=position.text.replace("\n", " "),
            help="".join(f"{text}\n\n" for text in told if text),
            legal=self.legal.format(moves=", ".join(legal)) if shows_legal else "",
            mover=position.mover,
        )

    def correction(self, said: Said) -> str:
        """The question after an answer without a legal move."""
        return self.again.format(reason=said.reason)


def _help(position: Position, command: str) -> str | None:
    try:
        return position.game.terminal.answer(position, command.split())
    except ValueError:  # it has no answer here
        return None


@lru_cache(maxsize=64)
def _rules_and_examples(game: Game) -> tuple[str, list[str]]:
    """The rules, links and pictures replaced by their text, and example moves.

    The moves are of a random game, one of each form first.
    """
    rules = re.sub(r"!?\[([^\]]*)\]\([^)\s]*(?: \"[^\"]*\")?\)", r"\1", game.rules_section())
    rng, position = np.random.default_rng(0), game.start(0)
    texts: list[str] = []
    while not position.is_over:
        action = int(rng.choice(position.legal_actions))
        texts.append(position.action_to_text(action))
        position.play(action)
    by_form = {re.sub(r"[a-z](?=\d)|\d+", "", text): text for text in texts}
    return rules, [*dict.fromkeys([*by_form.values(), *texts])][:_EXAMPLES]


PROMPTS: Prompts = msgspec.json.decode(
    Path(__file__).with_name("prompts.json").read_bytes(), type=Prompts
)
