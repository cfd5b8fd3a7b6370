"""The games by name. A new game in this package needs one more line in `GAMES`.

A game of another package is found by its entry point, whose name holds the game's name and version:

    [project.entry-points."ludarium.games"]
    tictactoe_v0 = "mygames:TicTacToe"

Such a package is imported only when its game is asked for, or all games are listed.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from importlib.metadata import EntryPoint
from typing import Any
from weakref import WeakValueDictionary

from ludarium.base.messages import did_you_mean, quoted

from .corso import Corso
from .engine.check import NAME, fault_of_class
from .engine.game import Game
from .engine.options import UnknownOptionError, check_options, check_stored
from .obelisk import Obelisk
from .obsidio import Obsidio
from .onyx import Onyx
from .osiron import Osiron
from .plugins import PluginError, find_plugins, load_plugin, package_of, refusal

#: The group of the entry points by which installed packages add games.
GAME_ENTRY_POINTS = "ludarium.games"

_VERSIONED = re.compile(rf"({NAME.pattern})_v(\d+)")


class GameRegistry(MutableMapping[str, type[Game]]):
    """The game classes by name; iteration yields those that can be used.

    ``name in GAMES`` and `versions` import nothing. Looking a game up imports it; iterating imports
    all games. If a package's game cannot be used, looking it up raises `PluginError`, and iterating
    leaves it out; the first time a warning names the package.
    """

    def __init__(self, games: Mapping[str, type[Game]]) -> None:
        self._games = dict(games)
        self._plugins: dict[str, tuple[int, EntryPoint]] = {}
        self._warned: set[str] = set()
        for versioned, plugin in find_plugins(GAME_ENTRY_POINTS).items():
            self._add_plugin(versioned, plugin)

    def _add_plugin(self, versioned: str, plugin: EntryPoint) -> None:
        match = _VERSIONED.fullmatch(versioned)
        if match is None:
            reason = "is not named as a game is, such as tictactoe_v0"
        elif match[1] in self._games or match[1] in self._plugins:
            reason = f"is left out: there is a game called {match[1]!r} already"
        else:
            self._plugins[match[1]] = int(match[2]), plugin
            return
        warnings.warn(str(refusal(plugin, reason)), stacklevel=2)

    def versions(self) -> dict[str, int]:
        """The version of each game by name; packages that are not imported yet are included."""
        known = {name: game.version for name, game in self._games.items()}
        return known | {name: version for name, (version, _) in self._plugins.items()}

    def add(self, game: type[Game]) -> None:
        """Register a class; see `ludarium.envs.register_game`."""
        _check_class(game)
        name = game.name
        if name in self._games and not _is_same(self._games[name], game):
            other = self._games[name]
            raise ValueError(
                f"{_path(game)} cannot be registered: {name!r} is the game {_path(other)} already, "
                f"version {other.version}; give yours another name"
            )
        if name in self._plugins:
            version, plugin = self._plugins[name]
            if plugin.module.partition(".")[0] != game.__module__.partition(".")[0]:
                raise ValueError(
                    f"{_path(game)} cannot be registered: {name!r} is a game of the installed "
                    f"package {package_of(plugin)}; give yours another name"
                )
            _check_version(game, plugin, name, version)
            del self._plugins[name]
        self._games[name] = game

    def __getitem__(self, name: str) -> type[Game]:
        if name not in self._games and name in self._plugins:
            version, plugin = self._plugins[name]
            game = load_plugin(plugin)  # may itself call `register_game`
            try:
                _check_class(game)
            except ValueError as error:
                raise refusal(plugin, f"is not a game ({error})") from None
            _check_version(game, plugin, name, version)
            self._games[name] = game
            self._plugins.pop(name, None)
        return self._games[name]

    def __setitem__(self, name: str, game: type[Game]) -> None:
        self._games[name] = game

    def __delitem__(self, name: str) -> None:
        del self._games[name]

    def __contains__(self, name: object) -> bool:
        return name in self._games or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        for name in [name for name in self._plugins if name not in self._warned]:
            try:
                self[name]
            except PluginError as error:
                self._warned.add(name)
                warnings.warn(str(error), stacklevel=2)
        return iter(self._games)

    def __len__(self) -> int:
        return len(list(iter(self)))


def _check_class(game: Any) -> None:
    """Raise ``ValueError`` unless ``game`` is a class that can be played."""
    if not (inspect.isclass(game) and issubclass(game, Game)):
        raise ValueError(f"{game!r:.80} is not a subclass of ludarium.envs.Game")
    if inspect.isabstract(game):
        missing = ", ".join(sorted(game.__abstractmethods__))
        raise ValueError(f"{_path(game)} lacks methods of a game: {missing}")
    fault = fault_of_class(game)
    if fault is not None:
        raise ValueError(f"{_path(game)} {fault}")


def _check_version(game: type[Game], plugin: EntryPoint, name: str, version: int) -> None:
    if (game.name, game.version) != (name, version):
        raise refusal(plugin, f"is {game.name}_v{game.version}, not what its entry point is called")


def _is_same(known: type[Game], game: type[Game]) -> bool:
    """Whether two classes are one, perhaps redefined by a notebook or a reload."""
    return known is game or (_path(known), known.version) == (_path(game), game.version)


def _path(game_class: type) -> str:
    return f"{game_class.__module__}.{game_class.__qualname__}"


#: The games by name: those of this package, of installed packages, and registered ones.
GAMES = GameRegistry(
    {
        "corso": Corso,
        "onyx": Onyx,
        "osiron": Osiron,
        "obsidio": Obsidio,
        "obelisk": Obelisk,
    }
)


def find_game(name: str) -> type[Game]:
    """The class of a game.

    Raises:
        ValueError: there is none of that name (the message lists the games), or the installed
            package's class cannot be used (`PluginError`).
    """
    if not isinstance(name, str) or name not in GAMES:
        raise ValueError(
            f"no game is called {quoted(name)}{did_you_mean(str(name), GAMES)}; games: "
            f"{', '.join(GAMES)}; one of your own: see register_game"
        )
    return GAMES[name]


def make_game(name: str, /, **options: Any) -> Game:
    """The rules of a game with the given options.

    Callers who ask for rules that are in use get the same object, so that a thousand environments
    share its tables.

    Raises:
        ValueError: no such game, or a value that an option does not accept.
        UnknownOptionError: no such option; it is a TypeError and a ValueError.
        FileNotFoundError: an option is the path of a file that does not exist.
    """
    return _shared(find_game(name), options)


def make_stored_game(name: str, stored: Any, /, **given: Any) -> Game:
    """The rules with options from a file, such as a record or a checkpoint.

    Args:
        name: the game's name.
        stored: options from the file. They must not make this program read other files, so an
            option that takes the path of a file with its value takes here only the value itself.
        given: the user's own options, which replace those in the file.

    Raises:
        ValueError: as for `make_game`, or an option in the file is a path, or ``stored`` is not a
            mapping by name.
        FileNotFoundError: an option in ``given`` is the path of a file that does not exist.
    """
    game_class = find_game(name)
    return _shared(game_class, check_stored(game_class.option_list, stored) | given)


_in_use: WeakValueDictionary[tuple[type[Game], str], Game] = WeakValueDictionary()


def _shared(game_class: type[Game], options: dict[str, Any]) -> Game:
    """The rules in use with these options, or new ones."""
    key = game_class, repr(check_options(game_class.name, game_class.option_list, options))
    game = _in_use.get(key)
    if game is not None and not game._is_current():
        _in_use.pop(key, None)
        game = None
    return _in_use.setdefault(key, game_class(**options)) if game is None else game


def as_game(game: str | Game, options: dict[str, Any]) -> Game:
    """The rules of a game, given by name and options or as a `Game`.

    Raises:
        ValueError: as for `make_game`, or ``game`` is neither.
        UnknownOptionError: no such option; a `Game` takes none.
        FileNotFoundError: as for `make_game`.
    """
    if isinstance(game, str):
        return make_game(game, **options)
    if not isinstance(game, Game):
        raise ValueError(f"game is {quoted(game)}; accepted: the name of a game, or a Game")
    if options:
        raise UnknownOptionError(
            f"got an unexpected keyword argument {quoted(next(iter(options)))}: options go with a "
            f"game's name, and {game!r} has its own"
        )
    return game
