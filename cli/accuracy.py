"""``ludarium accuracy``: how often an agent's moves keep the exact value of a position."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ludarium.analysis.accuracy import accuracy, chosen_actions, moves_that_keep
from ludarium.analysis.exact_tests import (
    FEW,
    LIMIT,
    ExactTest,
    find_exact_test,
    make_exact_test,
    write_exact_test,
)
from ludarium.base.messages import shortened
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, make_agent, read_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.evaluation.statistics import mean
from ludarium.training.search import Budget, SearchResult
from ludarium.training.table import percent, text_table

from .arguments import (
    add_game,
    add_json,
    add_limit,
    add_options,
    add_seed,
    output_file,
    read_positive,
)
from .common import game_of, read_options
from .progress import shown_progress
from .result import Result

_FEW = percent(FEW)
_COUNT, _SEED = 500, 1

HELP = "compare an agent's moves and values with exact ones"
DESCRIPTION = f"""\
Let an agent choose a move in positions whose exact values are known. Count the moves that keep the
value: a won position stays won, a drawn one drawn. For a network, also measure how far its values
are from the exact ones, without search and with it.

  ludarium accuracy corso --test hard                 the hard positions that ship with ludarium
  ludarium accuracy corso --test hard --simulations 16,100,400,800
  ludarium accuracy osiron                            new positions, from random games
  ludarium accuracy runs/corso --by uct:200           positions from games of uct:200
  ludarium accuracy uct:1000 --game onyx --option size=6 --positions 200

Osiron has a table of all positions in which all pieces are placed. In the other games the positions
are searched to the end of the game, so they come from the later part of games, and finding them
takes some time. The positions of --test hard come from games of strong agents; in each at most
{_FEW} of the moves keep the value, none of these wins at once, and not every wrong one is refuted
at once. --save keeps the positions as lines of JSON, which --test reads again."""

#: Options that select which positions to make, and so have no meaning for positions that are read.
_MAKING = ("positions", "by", "only_choices", "only_hard", "limit", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "agent",
        metavar="AGENT",
        help="agent whose moves are compared, and the values of its network too, except for level: "
        "and endgame:",
    )
    parser.add_argument(
        "--test",
        metavar="hard|FILE",
        help="the game's shipped hard positions, or those in a file, instead of new ones",
    )
    parser.add_argument(
        "--positions",
        type=read_positive,
        metavar="N",
        help=f"how many positions (default {_COUNT})",
    )
    parser.add_argument(
        "--by",
        metavar="AGENT",
        help="agent that plays the games from which positions are taken: random (default), "
        "uct:200, ...",
    )
    parser.add_argument(
        "--only-choices",
        action="store_true",
        default=None,
        help="only positions where some move loses value; no lost position is among them",
    )
    parser.add_argument(
        "--only-hard",
        action="store_true",
        default=None,
        help=f"only positions where at most {_FEW}% of the moves keep the value, none of these "
        "wins at once, and not every wrong one is refuted at once",
    )
    parser.add_argument(
        "--simulations",
        type=_read_simulations,
        default=str(DEFAULT_SIMULATIONS),
        metavar="N,...",
        help="a network's simulations if AGENT sets neither them nor a time (default %(default)s); "
        "16,100: with each",
    )
    add_limit(parser, LIMIT)
    add_seed(parser, f"seed of the positions (default {_SEED})", None)
    parser.add_argument(
        "--save", type=output_file(), metavar="FILE", help="write the positions to a file"
    )
    add_game(parser)
    add_options(parser)
    add_json(parser)


def _read_simulations(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers: write 64 or 16,100,400"
        )
    return tuple(int(part) for part in parts)


def run(given: argparse.Namespace) -> Result:
    """Make or read the test positions, and ask the agent."""
    own = read_agent(given.agent)
    game = game_of([given.agent], read_options(given.option), given.game)
    specs = [*dict.fromkeys(map(own.with_simulations, given.simulations))]
    agents = [spec.make(game) for spec in specs]
    agent = agents[-1]
    names = {agent.name: str(spec) for spec, agent in zip(specs, agents, strict=True)}
    test = _made_test(given, game) if given.test is None else _stored_test(given, game)
    if given.save:
        write_exact_test(given.save, test)
    answers = {each.name: _answers(each, test) for each in agents}
    no_search = Budget(simulations=0)
    if isinstance(agent, NetworkAgent) and all(each.budget != no_search for each in agents):
        answers = {"network alone": _chosen(agent, agent.policy(test.states)), **answers}
    errors = {
        name: mean(np.abs(values - test.values))
        for name, (_, values) in answers.items()
        if values is not None
    }
    found = {name: _accuracies(actions, test) for name, (actions, _) in answers.items()}
    made = test.made
    kind = "" if made["positions"] == "all" else f" ({shortened(made['positions'], 60)})"
    plies = test.states["ply"]
    parts = [
        f"{len(test)} positions{kind} of {game} from games of {shortened(made['games_of'])}, "
        f"plies {plies.min()} to {plies.max()}",
        _accuracy_table(found),
    ]
    if errors:
        parts.append(_error_table(errors))
    return Result(_as_data(test, found, errors, names), "\n\n".join(parts))


def _answers(agent: Agent, test: ExactTest) -> tuple[np.ndarray, np.ndarray | None]:
    """The actions that an agent chooses, int64 [N], and its values, float [N]; None for agents
    other than a `NetworkAgent`."""
    if not isinstance(agent, NetworkAgent):
        return chosen_actions(agent, test), None
    return _chosen(agent, agent.search(test.states))


def _chosen(agent: Agent, result: SearchResult) -> tuple[np.ndarray, np.ndarray]:
    return agent.select(result), result.values


def _made_test(given: argparse.Namespace, game: Game) -> ExactTest:
    count = _COUNT if given.positions is None else given.positions
    with shown_progress() as progress:
        return make_exact_test(
            game,
            count,
            _SEED if given.seed is None else given.seed,
            make_agent(given.by or "random", game),
            only_choices=bool(given.only_choices),
            only_hard=bool(given.only_hard),
            limit=LIMIT if given.limit is None else given.limit,
            progress=progress,
        )


def _stored_test(given: argparse.Namespace, game: Game) -> ExactTest:
    unused = [name for name in _MAKING if getattr(given, name) is not None]
    if unused:
        options = ", ".join("--" + name.replace("_", "-") for name in unused)
        raise ValueError(f"{options} is for new positions: leave it out, or --test")
    return find_exact_test(given.test, game)


def _accuracies(actions: np.ndarray, test: ExactTest) -> dict[str, IntervalEstimate]:
    """Accuracy on all positions, on those where a move loses value, and on the won and the drawn
    ones of these."""
    kept, choice = moves_that_keep(actions, test), test.has_choice
    return {
        "all": accuracy(kept),
        "choices": accuracy(kept[choice]),
        "won": accuracy(kept[choice & (test.values == 1)]),
        "drawn": accuracy(kept[choice & (test.values == 0)]),
    }


_PARTS = {
    "all": "all positions",
    "choices": "where some move loses value",
    "won": "  of these: won",
    "drawn": "  of these: drawn",
}


def _accuracy_table(found: dict[str, dict[str, IntervalEstimate]]) -> str:
    counts = {key: part.count for key, part in next(iter(found.values())).items()}
    rows = [
        [title, str(counts[key]), *(f"{parts[key]:.1%}" for parts in found.values())]
        for key, title in _PARTS.items()
        if counts[key]
    ]
    return text_table(["moves that keep the value (95 % interval)", "of", *found], rows)


def _error_table(errors: dict[str, IntervalEstimate]) -> str:
    header = ["mean absolute error of the value (95 % interval)", *errors]
    return text_table(header, [[_PARTS["all"], *(f"{each:.3f}" for each in errors.values())]])


def _as_data(
    test: ExactTest,
    found: dict[str, dict[str, IntervalEstimate]],
    errors: dict[str, IntervalEstimate],
    names: dict[str, str],
) -> dict[str, Any]:
    """The results as JSON values, in which agents have their whole ``names``."""
    return {
        "game": test.game.name,
        "options": dict(test.game.options),
        "positions": len(test),
        "made": test.made,
        "agents": {
            names.get(name, name): {key: part.to_dict() for key, part in parts.items()}
            for name, parts in found.items()
        },
        "value_errors": {names.get(name, name): each.to_dict() for name, each in errors.items()},
    }
