"""Turns a game's rules in its README into a piece of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ludarium.envs import Game

_SCHEMES = ("https", "http", "mailto")


def rules_html(game: Game) -> str:
    """A game's origin and rules, as an HTML fragment: no scripts, no images, no raw HTML.

    Players are named as on the page, which counts them from 1.
    """
    told = [game.origin_section(), game.rules_section()]
    if not told[1]:
        told[1] = f"The rules of {game.title} are not written down."
    html = "".join(markdown_html(text) for text in told if text)
    for player in (0, 1):
        html = html.replace(f"<code>player_{player}</code>", f"player {player + 1}")
    return html


def markdown_html(text: str) -> str:
    """Markdown as HTML. Links lead to other sites or to a mail address, or become plain text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = [
        token if token.children is None else token.copy(children=_with_known_links(token.children))
        for token in reader.parse(text)
    ]
    rendered: str = reader.renderer.render(tokens, reader.options, {})
    return rendered


def _with_known_links(tokens: Sequence[Token]) -> list[Token]:
    """Inline tokens without images, and without links to files that are not on the page."""
    kept: list[Token] = []
    is_open: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            is_open.append(urlsplit(str(token.attrs.get("href", ""))).scheme in _SCHEMES)
            if is_open[-1]:
                attributes = {**token.attrs, "target": "_blank", "rel": "noopener noreferrer"}
                kept.append(token.copy(attrs=attributes))
        elif token.type == "link_close":
            if is_open.pop():
                kept.append(token)
        elif token.type == "image":
            kept.append(Token("text", "", 0, content=token.content))
        else:
            kept.append(token)
    return kept
