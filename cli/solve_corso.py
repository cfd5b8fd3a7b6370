"""``ludarium solve corso`` and ``ludarium probe corso``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict

from ludarium.analysis.corso import SIZES, Answer, CorsoSolver, OpeningBook, first_actions
from ludarium.analysis.corso.opening_book import PLIES
from ludarium.analysis.corso.opening_book import Show as ShowBook
from ludarium.analysis.corso.solver import EAGER, Show, after
from ludarium.envs.engine.threads import available_cores
from ludarium.envs.registry import make_game

from .common import add_json, print_json
from .progress import status
from .resources import add_resources

_SOLVE = """\
Compute what each first action of Corso is worth with best play: alpha-beta search with a
table of exact keys, so the result is a proof as far as the program is right. First actions
that symmetry makes equal are searched once.

  ludarium solve corso                         5 x 5: who wins, after each first action
  ludarium solve corso --score                 and by how much (longer)
  ludarium solve corso --size 4 --score        a second
  ludarium solve corso --first-move c3 --memory 1GiB
  ludarium solve corso --seed 1 --eager 4 --score --threads 1
                                               again, with other places in the table, another
                                               order of actions, and by way of the exact leads
  ludarium solve corso --opening-book 5x5.table
                                               make and check the file that `perfect` plays from"""

_PROBE = """\
Search what a position of Corso is worth to the player to move, and each legal action, the best
first. Seconds, except in the first few plies of 5 x 5.

  ludarium probe corso --moves "c3 b2 b3 c3!"
  ludarium probe corso --size 4                the start
  ludarium probe corso --moves "c3 b2" --outcome        who wins only: sooner"""


def add_solve(games: argparse._SubParsersAction) -> None:
    """Describe ``ludarium solve corso``."""
    parser = games.add_parser(
        "corso",
        help="each first action, in minutes",
        description=_SOLVE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--first-move",
        action="append",
        metavar="MOVE",
        help="only this one (may be repeated; default: one of each symmetry class)",
    )
    parser.add_argument("--score", action="store_true", help="exact leads, not only who wins")
    parser.add_argument(
        "--opening-book",
        metavar="FILE",
        help="instead, find out what to play in every position of the first plies that can "
        "arise, in either seat, check that by a second search, and write it",
    )
    parser.add_argument(
        "--plies",
        type=int,
        default=PLIES,
        help=f"with --opening-book: how many of the first plies (default {PLIES})",
    )
    _add_search(parser, memory="4GiB")
    parser.set_defaults(run=solve)


def add_probe(games: argparse._SubParsersAction) -> None:
    """Describe ``ludarium probe corso``."""
    parser = games.add_parser(
        "corso",
        help="a position of Corso",
        description=_PROBE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--moves", default="", metavar="MOVES", help='from the start on, such as "c3 b2 b3 c3!"'
    )
    parser.add_argument("--outcome", action="store_true", help="who wins only, not by how much")
    _add_search(parser, memory="1GiB")
    parser.set_defaults(run=probe)


def _add_search(parser: argparse.ArgumentParser, memory: str) -> None:
    parser.add_argument(
        "--size", type=int, choices=SIZES, default=5, help="of the board (default 5)"
    )
    add_resources(parser, memory)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the places in the table (default 0)"
    )
    parser.add_argument(
        "--eager",
        type=int,
        default=EAGER,
        metavar="CELLS",
        help="an expansion that gains so many cells is searched before placements "
        f"(default {EAGER}); changes how long it takes, not what comes out",
    )
    add_json(parser)


def solve(given: argparse.Namespace) -> int:
    """Search the first actions and print what they are worth, or make an opening book."""
    if given.opening_book:
        return make_opening_book(given)
    solver = _solver(given)
    start = solver.game.start()
    if given.first_move:
        actions = [start.text_to_action(text) for text in given.first_move]
    else:
        actions = first_actions(solver.game)
    started = time.perf_counter()
    with status() as say:
        positions = [after(start, action) for action in actions]
        found = solver.answer_all(positions, given.score, _counted(say, len(actions)))
    seconds = time.perf_counter() - started
    answers = {
        start.action_to_text(action): answer.reversed()
        for action, answer in zip(actions, found, strict=True)
    }
    best = Answer.best(answers.values())
    if given.json:
        print_json(
            {
                "game": "corso",
                "size": given.size,
                "first_actions": {text: _as_json(answer) for text, answer in answers.items()},
                "start": None if given.first_move else _as_json(best, effort=False),
                "nodes": solver.nodes,
                "seconds": round(seconds, 2),
                "memory": solver.memory,
                "table_filled": round(solver.filled, 4),
                "threads": solver.threads,
                "seed": given.seed,
                "eager": given.eager,
            }
        )
        return 0
    print(f"Corso, {given.size} x {given.size}, for player_0, who begins with")
    for text, answer in answers.items():
        print(f"  {text}  {answer!s:<12} {answer.nodes:>15,} positions {answer.seconds:>8.1f} s")
    if not given.first_move:
        print(f"the start is a {best} for player_0")
    print(
        f"{solver.nodes:,} positions in {seconds:.1f} s on {solver.threads} threads; "
        f"table {solver.memory >> 20} MiB, {solver.filled:.0%} filled"
    )
    return 0


def make_opening_book(given: argparse.Namespace) -> int:
    """Make an opening book, check it with another seed and order, write it; print what it holds."""
    if given.score or given.first_move:
        raise ValueError("--opening-book takes neither --score nor --first-move")
    started = time.perf_counter()
    with status() as say:

        def show(task: str) -> ShowBook:
            return lambda ply, answered, questions, nodes: say(
                f"{task}: ply {ply}, {answered:,} of {questions:,} positions, "
                f"{nodes / 1e6:,.0f} M searched"
            )

        book = OpeningBook.build(_solver(given), given.plies, show("making"))
        built = time.perf_counter()
        given.seed, given.eager = given.seed + 1, max(1, given.eager - 1)
        check = book.check(_solver(given), show("checking"))
    checked = time.perf_counter()
    path = book.save(given.opening_book)
    found = {
        "game": "corso",
        "size": given.size,
        "plies": given.plies,
        **asdict(check),
        "seconds": round(built - started, 2),
        "check_seconds": round(checked - built, 2),
        "file": str(path),
        "bytes": path.stat().st_size,
    }
    if given.json:
        print_json(found)
        return 0
    print(f"{path}: {check.won:,} positions won, {check.lost:,} lost, {found['bytes']:,} bytes")
    print(
        f"checked, with {check.beyond:,} positions after the last entries and {check.finished:,} "
        "finished games, all won"
    )
    print(f"{built - started:.1f} s, and {checked - built:.1f} s to check")
    return 0


def probe(given: argparse.Namespace) -> int:
    """Play the moves, search, print."""
    solver = _solver(given)
    position = solver.game.start()
    moves = given.moves.replace(",", " ").split()
    for text in moves:
        position.play(position.text_to_action(text))
    if position.is_over:
        raise ValueError(
            f"the game is over after these moves, nothing is left to choose:\n"
            f"{position.board_text()}"
        )
    started = time.perf_counter()
    with status() as say:
        show = _counted(say, len(position.legal_actions))
        worth = solver.actions(position, not given.outcome, show)
    seconds = time.perf_counter() - started
    best = Answer.best(worth.values())
    if given.json:
        print_json(
            {
                "game": "corso",
                "size": given.size,
                "moves": moves,
                "board": position.board_text().splitlines(),
                "mover": f"player_{position.mover}",
                **_as_json(best, effort=False),
                "actions": [
                    {
                        "action": action,
                        "text": position.action_to_text(action),
                        **_as_json(answer),
                    }
                    for action, answer in worth.items()
                ],
                "nodes": solver.nodes,
                "seconds": round(seconds, 2),
            }
        )
        return 0
    print(position.board_text())
    print(f"for player_{position.mover}, to move: {best}")
    for action, answer in worth.items():
        print(f"  {position.action_to_text(action):<4} {answer}")
    return 0


def _solver(given: argparse.Namespace) -> CorsoSolver:
    threads = given.threads or available_cores()
    game = make_game("corso", size=given.size)
    return CorsoSolver(game, given.memory, threads, given.seed, given.eager)


def _as_json(answer: Answer, effort: bool = True) -> dict[str, object]:
    result = None if answer.outcome is None else ("loss", "draw", "win")[answer.outcome + 1]
    found: dict[str, object] = {"value": result, "low": answer.low, "high": answer.high}
    if effort:
        found |= {"nodes": answer.nodes, "seconds": round(answer.seconds, 3)}
    return found


def _counted(say: Callable[[str], None], questions: int) -> Show:
    return lambda nodes, answered: say(
        f"{answered} of {questions} answered, {nodes / 1e6:,.0f} M positions"
    )
