"""Turns a game's rules in its README into a piece of HTML."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ludarium.envs import Game

_SCHEMES = ("https", "http", "mailto")


def rules_html(game: Game) -> str:
    """The origin and the rules of a game, as an HTML fragment without scripts or raw HTML.

    Players are numbered from 1, as on the page. The only images are pictures of positions, see
    `Game.pictured`, which are drawn here.
    """
    told = [game.origin_section(), game.rules_section()]
    if not told[1]:
        told[1] = f"The rules of {game.title} are not written down."
    html = "".join(markdown_html(text) for text in told if text)
    html = _with_players_of_the_page(re.sub(r"<code>(player_[01])</code>", r"\1", html))
    usual = type(game)()
    return html + "".join(_figure(usual, moves, told) for _, moves, told in game.pictured())


def _with_players_of_the_page(text: str) -> str:
    return text.replace("player_0", "player 1").replace("player_1", "player 2")


def _figure(game: Game, moves: Sequence[str], told: str) -> str:
    """A position as a separate picture, so that its ids do not collide with those of the board."""
    drawn = _with_players_of_the_page(game.picture_of(moves))
    content = base64.b64encode(drawn.encode()).decode()
    words = escape(told.removeprefix(f"{game.title}: "))
    picture = f'<img src="data:image/svg+xml;base64,{content}" alt="{words}">'
    return f"<figure>{picture}<figcaption>{words}</figcaption></figure>"


def markdown_html(text: str) -> str:
    """Markdown as HTML. Links to other sites or mail addresses stay; other links become text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = [
        token if token.children is None else token.copy(children=_with_known_links(token.children))
        for token in reader.parse(text)
    ]
    rendered: str = reader.renderer.render(tokens, reader.options, {})
    return rendered


def _with_known_links(tokens: Sequence[Token]) -> list[Token]:
    """Inline tokens, with only the texts of images and of links without one of `_SCHEMES`."""
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
