"""``ludarium analyse``: an agent's analysis of a position, or of every move of a game."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.live import Live
from rich.text import Text

from ludarium.analysis.figures import SUFFIXES
from ludarium.analysis.games import GameAnalysis, analyse_game
from ludarium.analysis.thinking import Thinker, default_agent, make_thinker
from ludarium.analysis.value_graph import plot_values
from ludarium.base.console import output, plain_console, say
from ludarium.base.progress import Periodic, Progress
from ludarium.base.progress_bar import drawn
from ludarium.envs.registry import GAMES
from ludarium.training.agents import make_agent
from ludarium.training.search import Budget
from ludarium.training.table import text_table

from .arguments import (
    add_json,
    add_options,
    add_position,
    add_seed,
    output_file,
    read_count,
    read_seconds,
)
from .common import AGENTS_HELP, agent_for, play_moves, read_options, read_record
from .interrupt import STOPPED, stop_on_ctrl_c
from .progress import shown_progress
from .result import Result, warn
from .thoughts import effort, headline, moves_table

_SIMULATIONS = 10_000
_SIMULATIONS_OF_A_MOVE = 1_000  # for each position of a game
_REFRESH = 0.25  # seconds between two refreshes

HELP = "analyse a position or a game by an agent"
DESCRIPTION = f"""\
Print an agent's analysis of a position: every legal move with what the agent knows: its value, the
chances of a win, a draw and a loss, the visits of the search, the network's first guess (prior),
and the best play after it. Values are for the player to move, from 1, a win, to -1, a loss. A tree
search uses all cores, and refreshes its table on a terminal; others print theirs at the end.

  ludarium analyse corso --moves "c3 b2"
  ludarium analyse corso --moves "c3 b2" --seconds 10
  ludarium analyse corso --position "5/2O2/1X3/5/5 0"
  ludarium analyse onyx --option size=12 --simulations 1e5 --json
  ludarium analyse corso --agent runs/corso            your own agent
  ludarium analyse osiron --agent perfect              exact values

With --record, a whole game, move by move: the value after each, for the player who moved, and the
moves that lost most.

  ludarium analyse corso --record game.json --picture game.svg

Without --agent the shipped agent is used, or uct if none fits. Ctrl-C ends the search and
prints the results so far. For exact values, see `ludarium probe`; for programs, `ludarium engine`.

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument(
        "--moves",
        default="",
        help="moves from the start on, with commas or spaces between them (commas if moves "
        "have spaces)",
    )
    add_position(parser, "the position to begin with instead of the start")
    parser.add_argument(
        "--record", metavar="FILE", help="analyse this game: one that `play` saved, or plain moves"
    )
    add_seed(parser, "seed of a random start; a game that `play` saved has its own", 0)
    parser.add_argument("--agent", metavar="AGENT", help="agent that analyses (default: see above)")
    parser.add_argument(
        "--simulations",
        type=read_count,
        metavar="N",
        help=f"simulations or playouts, such as 1e5 (default {_SIMULATIONS:,}; for each "
        f"position of a record {_SIMULATIONS_OF_A_MOVE:,}; with --agent what its name says; "
        "with --seconds no limit)",
    )
    parser.add_argument(
        "--seconds", type=read_seconds, metavar="S", help="most seconds to search a position"
    )
    parser.add_argument(
        "--picture",
        type=output_file(*SUFFIXES),
        metavar="FILE",
        help=f"with --record: file for a picture of the values ({', '.join(SUFFIXES)})",
    )
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Analyse; the exit status is 130 after Ctrl-C."""
    if given.record is not None:
        return _run_game(given)
    if given.picture is not None:
        raise ValueError("--picture draws the values of a game: give one with --record FILE")
    options = read_options(given.option)
    game, agent, notes = agent_for(given.game, given.agent, options)
    for note in notes:
        warn(note)
    position = game.start(given.seed, given.position)
    moves = position.copy().play_all(play_moves(position, given.moves))
    if position.is_over:
        raise ValueError(f"the game is over after these moves:\n{position.board_text()}")
    thinker = make_thinker(agent, position)
    who = f"player_{position.mover}, to move"
    if not given.json:
        output(position.board_text())
    with _shown(thinker, who, given.json) as progress, stop_on_ctrl_c(progress):
        analysis = thinker.think(_effort(given, _SIMULATIONS), progress)
    data = {
        "game": game.name,
        "options": dict(game.options),
        "seed": given.seed,
        "played": moves,
        "position": position.text,
        **analysis.as_json(),
        "stopped": progress.stopped,
    }
    lines = [headline(analysis, who), moves_table(analysis), effort(analysis)]
    return Result(data, "\n".join(filter(None, lines)), STOPPED if progress.stopped else 0)


def _effort(given: argparse.Namespace, default: int) -> Budget:
    """The budget that is given; without one, ``default``, or with --agent that agent's own."""
    if given.simulations is None and given.seconds is None and given.agent is None:
        return Budget(default)
    return Budget(given.simulations, given.seconds)


@contextmanager
def _shown(thinker: Thinker, who: str, as_json: bool) -> Iterator[Progress]:
    """A context whose progress shows the analysis so far, if there is a terminal."""
    console = plain_console(stderr=as_json)
    if not console.is_terminal:
        yield Progress()
        return
    live = Live(Text("thinking ..."), console=console, transient=True, auto_refresh=False)
    with drawn(live):
        with suppress(OSError):
            live.refresh()

        def show() -> None:
            analysis = thinker.analysis()
            table = moves_table(analysis, max(1, console.height - 4), terminal=False)
            lines = [headline(analysis, who), table, f"{effort(analysis)} (Ctrl-C stops)"]
            shown = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
            with suppress(OSError):  # the terminal is gone
                live.update(shown, refresh=True)

        yield Periodic(show, _REFRESH)


# A whole game.


def _run_game(given: argparse.Namespace) -> Result:
    if given.moves:
        raise ValueError("--record is a whole game: leave out --moves")
    (game, seed, start, actions, forfeit), record = read_record(
        given.record, given.game, read_options(given.option), given.seed, given.position
    )
    agent = default_agent(game) if given.agent is None else make_agent(given.agent, game)
    with shown_progress(can_stop=True) as progress:
        analysis = analyse_game(
            game, seed, actions, agent, _effort(given, _SIMULATIONS_OF_A_MOVE), progress, start
        )
    if given.picture is not None:
        plot_values(analysis, given.picture)
    if not analysis.is_complete:
        say(f"ludarium: stopped at move {len(analysis.moves)} of {len(actions)}")
    lines = _game_lines(analysis)
    if forfeit is not None:
        lines.append(f"{forfeit.told(game)}: player_{1 - forfeit.player} has won")
    if given.picture is not None:
        lines.append(f"wrote {given.picture}")
    ending = {name: record.get(name) for name in ("result", "illegal_action")}
    data = {"record": given.record, "seed": seed, **ending, **analysis.as_json()}
    return Result(data, "\n".join(lines), 0 if analysis.is_complete else STOPPED)


def _game_lines(analysis: GameAnalysis) -> list[str]:
    """A game as a table, the moves that lost most, and the mean loss of each player."""
    header = ["ply", "", "move", "value", "lost", "best"]
    rows = [
        [
            str(move.ply),
            f"player_{move.mover}",
            move.text,
            _signed(move.value),
            "" if move.loss is None or move.loss < 0.005 else f"{move.loss:.2f}",
            "" if move.before.best.text == move.text else move.before.best.text,
        ]
        for move in analysis.moves
    ]
    lines = [text_table(header, rows, left=(1, 2, 5))]
    worst = ", ".join(f"{move.ply}. {move.text} (-{move.loss:.2f})" for move in analysis.worst())
    means = [analysis.mean_loss(player) for player in (0, 1)]
    lost = ", ".join(
        f"player_{player} {mean:.3f}" for player, mean in enumerate(means) if mean is not None
    )
    lines.append(f"values by {analysis.agent}, for the player who moved: 1 a win, -1 a loss")
    if worst:
        lines.append(f"lost most: {worst}")
    if lost:
        lines.append(f"lost per move: {lost}")
    return lines


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"
