"""The compiled code that a game uses: in environments, agents, search, self-play and analyses."""

from __future__ import annotations

from ludarium.analysis.corso import kernels as corso
from ludarium.analysis.osiron import kernels as osiron
from ludarium.analysis.search import kernels as solver
from ludarium.envs import Game
from ludarium.envs.engine import batch_kernels, kernels, views
from ludarium.envs.engine.compile import unit_of
from ludarium.machine.unit import Unit
from ludarium.training.agents.kernels import alphabeta, uct
from ludarium.training.alphazero.kernels import self_play
from ludarium.training.evaluation.kernels import match
from ludarium.training.search import leaves, level, simulate

#: The template modules of all games, those that take longest to compile first.
TEMPLATES = (
    *(simulate, self_play, leaves, kernels, batch_kernels, views),
    *(uct, alphabeta, solver, level, match),
)
#: Those of one game each, by its name.
OF_GAMES = {"corso": corso, "osiron": osiron}


def units_of(game: Game) -> list[Unit]:
    """A game's units whose kernels can be made beforehand; without those of networks."""
    own = [OF_GAMES[game.name]] if game.name in OF_GAMES else []
    units = [unit_of(templates, game) for templates in (*TEMPLATES, *own)]
    return [unit for unit in units if unit.declared()]
