"""The games by name. A new game is one more line in `GAMES`."""

from __future__ import annotations

import os
from typing import Any

from .corso import Corso
from .engine.game import Game
from .engine.options import check_options
from .obelisk import Obelisk
from .obsidio import Obsidio
from .onyx import Onyx
from .osiron import Osiron

GAMES: dict[str, type[Game]] = {
    "corso": Corso,
    "onyx": Onyx,
    "osiron": Osiron,
    "obsidio": Obsidio,
    "obelisk": Obelisk,
}


def find_game(name: str) -> type[Game]:
    """The class of a game; ``ValueError`` lists the games when there is none of that name."""
    try:
        return GAMES[name]
    except KeyError:
        raise ValueError(f"no game is called {name!r}; games: {', '.join(GAMES)}") from None


def make_game(name: str, **options: Any) -> Game:
    """The rules of a game with the given options.

    Raises:
        ValueError: no such game, no such option, or a value that the option does not accept.
    """
    return find_game(name)(**options)


def make_stored_game(name: str, stored: dict[str, Any], /, **given: Any) -> Game:
    """The rules with options out of a file, from a record or a checkpoint, say.

    Args:
        name: of the game.
        stored: options as the file holds them. Whoever wrote it must not have other files read, so
            an option that takes the path of a file takes here only what such a file contains.
        given: options that the user gives, instead of those in the file.

    Raises:
        ValueError: as for `make_game`, or an option in the file is a path.
    """
    kind = find_game(name)
    for option in kind.option_list:
        value = stored.get(option.name)
        if option.takes_path and isinstance(value, str | os.PathLike):
            raise ValueError(
                f"option {option.name!r} is {str(value)!r:.200}; a file may hold the contents of "
                "another one, not its path"
            )
    return kind(**check_options(name, kind.option_list, stored | given))


def as_game(game: str | Game, options: dict[str, Any]) -> Game:
    """The rules, given by name and options or ready-made."""
    if isinstance(game, str):
        return make_game(game, **options)
    if not isinstance(game, Game):
        raise ValueError(f"game is {game!r}; accepted: the name of a game, or a Game")
    if options:
        raise ValueError(f"options {options} go with a game's name, not with {game!r}")
    return game
