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

from .lesson import read_lesson

_SCHEMES = ("https", "http", "mailto")
_DECISIONS = r"<details><summary>Where the published rules are silent</summary>\1</details>"


def rules_html(game: Game) -> str:
    """The rules of a game, as an HTML fragment without scripts or raw HTML.

    It begins with the goal, if the game has a lesson, and ends with the origin. What the published
    rules leave open is folded. Players are numbered from 1, as on the page. The only images are
    pictures of positions, see `Game.pictured`, which are drawn here.
    """
    rules = game.rules_section() or f"The rules of {game.title} are not written down."
    html = re.sub(r"<code>(player_[01])</code>", r"\1", markdown_html(rules))
    html = re.sub(r"unless <code>\w+</code> says otherwise", "unless another is chosen", html)
    html = re.sub(r"<h3>Decisions</h3>(.*?)(?=<h3>|\Z)", _DECISIONS, html, flags=re.DOTALL)
    usual = type(game)()
    figures = "".join(_figure(usual, moves, told) for _, moves, told in game.pictured())
    origin = markdown_html(game.origin_section())
    return f"{_in_short(game)}{figures}{_with_players_of_the_page(html)}{origin}"


def _in_short(game: Game) -> str:
    """Goal, move and end in a few sentences."""
    lesson = read_lesson(game)
    if lesson is None:
        return ""
    told = (("Goal", lesson.goal), ("A move", lesson.move), ("The end", lesson.end))
    rows = "".join(f"<dt>{word}</dt><dd>{escape(text)}</dd>" for word, text in told)
    return f'<dl class="short">{rows}</dl>'


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
    """Markdown as HTML. Links to other sites or mail addresses stay; other links, and images,
    become text."""
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
