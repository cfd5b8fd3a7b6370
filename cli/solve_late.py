"""``ludarium solve GAME`` and ``ludarium probe GAME`` for games without a solver of their own."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from ludarium.analysis.search import Answer, EndgameSolver, LatePosition, exact_positions, positions
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import check_record
from ludarium.envs.engine.threads import available_cores
from ludarium.envs.registry import GAMES, make_game
from ludarium.training.agents import make_agent

from .common import add_json, add_options, print_json, read_options
from .progress import status
from .resources import add_resources

_SOLVE = """\
Play games of {title}, walk back from their ends, and say what each legal action of a late position
is worth with best play, as far back as it can be decided within --limit positions: exact tests for
agents. With --json each position is a game record that `probe --record` reads, with the values.

  ludarium solve {name}{option} --positions 20 --json > {name}.json
  ludarium solve {name}{option} --agent uct:200 --limit 1e7        farther back
  ludarium solve {name}{option} --per-game 5 --only-choices        where the choice matters"""

_PROBE = """\
Search what a late position of {title} is worth to the player to move, and each legal action, the
best first. Nothing is guessed: what --limit positions do not decide is said to be undecided.

  ludarium probe {name}{option} --moves "{moves}, ..."
  ludarium probe {name} --record game.json               a game that `play` saved
  ludarium probe {name} --record game.json --back 8      8 plies before the end of it"""

#: Options of the board on which most can be decided.
_SMALL = {"onyx": " --option size=6", "obsidio": " --option size=7"}
#: A first move. Written down, because to find one the game has to be compiled.
_FIRST_MOVES = {"onyx": "a1", "obsidio": "a1", "obelisk": "choose yellow-flat"}


def add_solve(games: argparse._SubParsersAction, name: str) -> None:
    """Describe ``ludarium solve GAME``."""
    parser = games.add_parser(
        name,
        help="late positions of played games",
        description=_SOLVE.format(name=name, title=GAMES[name].title, option=_SMALL.get(name, "")),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--positions", type=int, default=10, metavar="N", help="how many (default 10)"
    )
    parser.add_argument(
        "--agent",
        default="random",
        help="that plays both sides: random, greedy, uct:PLAYOUTS, alphabeta:DEPTH, a checkpoint "
        "(default random)",
    )
    parser.add_argument(
        "--opening",
        type=int,
        default=positions.OPENING,
        metavar="PLIES",
        help=f"random plies at the start of each game (default {positions.OPENING})",
    )
    parser.add_argument(
        "--per-game",
        type=int,
        default=1,
        metavar="N",
        help="positions of each game, those farthest from its end (default 1)",
    )
    parser.add_argument(
        "--only-choices",
        action="store_true",
        help="only positions whose actions are not all worth the same",
    )
    _add_search(parser, limit=positions.LIMIT, what="for each position")
    parser.set_defaults(run=solve, game=name)


def add_probe(games: argparse._SubParsersAction, name: str) -> None:
    """Describe ``ludarium probe GAME``."""
    parser = games.add_parser(
        name,
        help=f"a late position of {GAMES[name].title}",
        description=_PROBE.format(
            name=name,
            title=GAMES[name].title,
            option=_SMALL.get(name, ""),
            moves=_FIRST_MOVES.get(name, "MOVE"),
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--moves",
        default="",
        metavar="MOVES",
        help="played from the start on, or from the record on, with commas between them",
    )
    parser.add_argument(
        "--record", metavar="FILE", help="begin with this game, in place of the start"
    )
    parser.add_argument(
        "--back", type=int, default=0, metavar="PLIES", help="take back so many of all moves"
    )
    _add_search(parser, limit=100_000_000, what="for all actions together")
    parser.set_defaults(run=probe, game=name)


def _add_search(parser: argparse.ArgumentParser, limit: int, what: str) -> None:
    add_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default 0)")
    parser.add_argument(
        "--limit",
        type=read_count,
        default=limit,
        metavar="N",
        help=f"positions to search {what}, such as 1e7 (default {limit:.0e})",
    )
    parser.add_argument(
        "--outcome", action="store_true", help="who wins only, not by how much: sooner"
    )
    add_resources(parser, "256MiB")
    add_json(parser)


def read_count(text: str) -> int:
    """A whole number, also as ``1e7``."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number: write 5000000 or 5e6")
    return int(number)


def solve(given: argparse.Namespace) -> int:
    """Play games, search their late positions, print these."""
    game = make_game(given.game, **read_options(given.option))
    solver = _solver(given, game)
    solver.value(game.start(given.seed), limit=1)  # compiles, which shall not be timed
    started, processor = time.perf_counter(), time.process_time()
    late_positions = []
    with status() as show:
        for late in exact_positions(
            solver,
            given.positions,
            given.seed,
            make_agent(given.agent, game),
            given.opening,
            given.limit,
            given.per_game,
            given.only_choices,
        ):
            late_positions.append(late)
            show(
                f"{len(late_positions)} of {given.positions} positions, "
                f"{solver.nodes / 1e6:,.0f} M searched"
            )
            if not given.json:
                _print_late(late)
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    if given.json:
        print_json(
            {
                "game": game.name,
                "options": dict(game.options),
                "agent": given.agent,
                "opening": given.opening,
                "limit": given.limit,
                "seed": given.seed,
                "positions": [_late_as_json(late) for late in late_positions],
                "nodes": solver.nodes,
                "seconds": round(seconds, 2),
                "processor_seconds": round(processor, 2),
            }
        )
        return 0
    if late_positions:
        plies = np.array([late.plies_to_end for late in late_positions])
        low, middle, high = np.percentile(plies, [10, 50, 90])
        print(
            f"plies before the end of the game: median {middle:.0f}, "
            f"eight tenths from {low:.0f} to {high:.0f}"
        )
    print(
        f"{solver.nodes:,} positions searched in {seconds:.1f} s on {solver.threads} threads, "
        f"{processor:.1f} s of processor time"
    )
    return 0


def _print_late(late: LatePosition) -> None:
    best = late.best_actions
    texts = ", ".join(late.position.action_to_text(action) for action in best[:4])
    more = "" if len(best) <= 4 else ", ..."
    print(
        f"ply {late.position.ply} of {late.position.ply + late.plies_to_end}: "
        f"player_{late.position.mover} to move, {late.value}; "
        f"{len(best)} of {len(late.actions)} actions keep it: {texts}{more}"
    )


def _late_as_json(late: LatePosition) -> dict[str, object]:
    return {
        **late.to_record(),
        "plies_to_end": late.plies_to_end,
        **_position_as_json(late.position, late.actions),
    }


def probe(given: argparse.Namespace) -> int:
    """Play the moves, search, print; the exit status is 1 if not all is decided."""
    game, seed, actions = _moves(given)
    position = game.start(seed)
    moves = []
    for action in actions:
        moves.append(position.action_to_text(action))
        position.play(action)
    if position.is_over:
        raise ValueError(
            "the game is over after these moves, nothing is left to choose (--back takes moves "
            f"back):\n{position.board_text()}"
        )
    solver = _solver(given, game)
    started = time.perf_counter()
    count = len(position.legal_actions)
    try:
        with status() as show:
            worth = solver.actions(
                position,
                given.limit,
                lambda nodes, answered: show(
                    f"{answered} of {count} answered, {nodes / 1e6:,.0f} M positions"
                ),
            )
    except KeyboardInterrupt:
        print(
            f"ludarium: stopped; not decided within {solver.nodes:,} positions: play more moves",
            file=sys.stderr,
        )
        return 130
    seconds = time.perf_counter() - started
    undecided = sum(not answer.is_decided for answer in worth.values())
    if given.json:
        print_json(
            {
                "game": game.name,
                "options": dict(game.options),
                "seed": seed,
                "moves": moves,
                **_position_as_json(position, worth),
                "undecided": undecided,
                "limit": given.limit,
                "nodes": solver.nodes,
                "seconds": round(seconds, 2),
            }
        )
    else:
        print(position.board_text())
        print(f"for player_{position.mover}, to move: {Answer.best(worth.values())}")
        width = max(len(position.action_to_text(action)) for action in worth)
        for action, answer in worth.items():
            print(f"  {position.action_to_text(action):<{width}}  {answer}")
    if undecided:
        print(
            f"ludarium: {undecided} of {count} actions not decided within {given.limit:,} "
            "positions: play more moves, or raise --limit",
            file=sys.stderr,
        )
    return 1 if undecided else 0


def _moves(given: argparse.Namespace) -> tuple[Game, int, list[int]]:
    """The game, the seed of its start and the actions that lead to the position asked about."""
    options = read_options(given.option)
    actions: list[int] = []
    seed = given.seed
    if given.record is None:
        game = make_game(given.game, **options)
    else:
        game, seed, actions = _read_record(given.record)
        if game.name != given.game:
            raise ValueError(f"{given.record} is a game of {game.name}, not of {given.game}")
        if options:
            raise ValueError("a record has its own options: leave out --option")
    position = game.start(seed)
    for action in actions:
        position.play(action)
    for text in split_moves(game, given.moves):
        action = position.text_to_action(text)
        position.play(action)
        actions.append(action)
    if not 0 <= given.back <= len(actions):
        raise ValueError(f"--back {given.back}: there are {len(actions)} moves to take back")
    return game, seed, actions[: len(actions) - given.back]


def _read_record(file: str) -> tuple[Game, int, list[int]]:
    try:
        record = json.loads(Path(file).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{file} is no game record: {error}") from None
    return check_record(record, GAMES)


def split_moves(game: Game, text: str) -> list[str]:
    """The moves in a text: between commas, or spaces too where the game's notation has none."""
    start = game.start(0)
    has_spaces = any(" " in start.action_to_text(action) for action in start.legal_actions)
    pieces = text.split(",") if has_spaces else text.replace(",", " ").split()
    return [piece.strip() for piece in pieces if piece.strip()]


def _position_as_json(position: Position, worth: dict[int, Answer]) -> dict[str, object]:
    return {
        "board": position.board_text().splitlines(),
        "mover": f"player_{position.mover}",
        **_as_json(Answer.best(worth.values()), effort=False),
        "actions": [
            {"action": action, "text": position.action_to_text(action), **_as_json(answer)}
            for action, answer in worth.items()
        ],
    }


def _as_json(answer: Answer, effort: bool = True) -> dict[str, object]:
    found: dict[str, object] = {"value": answer.result}
    if answer.leads is not None:
        found |= {"low": answer.leads[0], "high": answer.leads[1]}
    if effort:
        found |= {"nodes": answer.nodes, "seconds": round(answer.seconds, 3)}
    return found


def _solver(given: argparse.Namespace, game: Game) -> EndgameSolver:
    threads = given.threads or available_cores()
    return EndgameSolver(game, not given.outcome, given.memory, threads)
