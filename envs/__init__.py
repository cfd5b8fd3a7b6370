"""Little-known abstract board games as reinforcement-learning environments. Import what is in
`__all__` and a game's environments, such as `corso_v0`, from here; tools import rules and positions
from `engine`.

    from ludarium.envs import corso_v0, make
    env = corso_v0.env(size=5)      # PettingZoo AEC, with the checks of PettingZoo's classic games
    env = make("corso", size=5)     # the same by name

Also here: ``GAMES`` (the registry), ``make_game`` (rules without an environment),
``register_game`` (a game of your own), ``check_game`` (what is wrong with it), ``from_record``
(an environment from a saved game), `ludarium.envs.batch` (thousands of games at once), and
Gymnasium ids such as ``ludarium/Corso-v0``.
"""

from typing import TYPE_CHECKING, Any

from .engine.game import Game, Symmetries
from .engine.game_check import check_game
from .engine.options import Option
from .engine.position import Position
from .engine.spec import Spec, Texts
from .making import GameModule, from_record, install_modules, make, make_raw, register_game
from .registry import GAMES, make_game

if TYPE_CHECKING:  # these are made while this package is imported, from the list of games
    corso_v0: GameModule
    onyx_v0: GameModule
    osiron_v1: GameModule
    obsidio_v0: GameModule
    obelisk_v0: GameModule

_version_modules = [install_modules(*item) for item in GAMES.versions().items()]


def __getattr__(name: str) -> Any:
    """Refuse another version of a game, such as ``osiron_v0``, and name the one that there is."""
    game, _, version = name.rpartition("_v")
    if version.isdecimal() and game in GAMES:
        present = GAMES.versions()[game]
        raise ImportError(
            f"there is no {name}: {game} has version {present}, with other rules, observations or "
            f"action numbers; import {game}_v{present}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "GAMES",
    "Game",
    "Option",
    "Position",
    "Spec",
    "Symmetries",
    "Texts",
    "check_game",
    "from_record",
    "make",
    "make_game",
    "make_raw",
    "register_game",
    *_version_modules,
]
