"""``ludarium play``: a game against an agent, in the browser or in the terminal."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ludarium.arena.ladder import load_ladder
from ludarium.arena.levels import AUTO, LevelSpec
from ludarium.base.console import output, say
from ludarium.base.messages import quoted
from ludarium.envs.registry import GAMES, find_game
from ludarium.play.server import USUAL_PORT, PageServer
from ludarium.play.variants import Variant
from ludarium.play.wasm import Limits
from ludarium.training.agents import AgentSpec, read_agent
from ludarium.training.agents.checkpoints import CheckpointSpec, ShippedSpec
from ludarium.training.agents.names import find_kind
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS

from .arguments import add_options, add_position, add_simulations, read_count
from .common import AGENTS_HELP, FALLBACK, game_to_play, read_options
from .progress import shown_progress

if TYPE_CHECKING:
    from ludarium.play.site import Site

HELP = "play against an agent, in the browser or in the terminal"
DESCRIPTION = f"""\
Play in the browser, on a page that this machine serves to itself alone, or in the terminal.

  ludarium play corso                          play against the shipped agent
  ludarium play runs/corso --seat 1            the agent of a run, which moves first
  ludarium play corso --opponent level:3       at a chosen strength
  ludarium play corso --simulations 4          a weaker opponent: little search
  ludarium play corso --no-browser             print the page's address, and open no browser
  ludarium play corso --terminal               in the terminal
  ludarium play corso --opponent uct:1000      a baseline: in the terminal
  ludarium play corso --resume game.json       continue a saved game: in the terminal

On the page one may choose another game and opponent at any time; Ctrl-C ends it. A game with
options that the page lacks is compiled first (ziglang: pip install "ludarium[wasm]"). Without
--no-browser and --port, the terminal is used if the page cannot do what is asked or is not built
(make page), if there is no browser, or if standard input is not a terminal.

{AGENTS_HELP}

In the terminal, if no trained agent fits the options, {FALLBACK} plays. At the prompt: a move in
the game's notation, or a command; `help` lists them. Ctrl-C saves the game and stops."""

_TEXT_BROWSERS = ("www-browser", "elinks", "links", "lynx", "w3m")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "opponent_or_game",
        metavar="GAME|CHECKPOINT",
        help=f"a game ({', '.join(GAMES)}), a checkpoint, or a run's folder",
    )
    parser.add_argument(
        "--opponent", metavar="AGENT", help="the opponent, if not the shipped agent"
    )
    parser.add_argument(
        "--seat",
        choices=("0", "1", "random"),
        help="your seat: 0 moves first (default: random; in a saved game, the seat that you had)",
    )
    about = "simulations per move of a trained opponent whose name sets neither them nor a time"
    add_simulations(parser, about, DEFAULT_SIMULATIONS)
    add_options(parser)
    add_position(parser, "the position to begin with instead of the start")
    page = parser.add_argument_group("in the browser")
    page.add_argument(
        "--no-browser", action="store_true", help="print the page's address, and open no browser"
    )
    page.add_argument(
        "--port",
        type=read_count,
        help=f"port of the page's address (default: {USUAL_PORT}, or any free one where it is in "
        "use)",
    )
    terminal = parser.add_argument_group("in the terminal")
    terminal.add_argument("--terminal", action="store_true", help="play there")
    terminal.add_argument("--resume", metavar="FILE", help="continue a saved game")
    terminal.add_argument(
        "--json", action="store_true", help="the record of the game as JSON on standard output"
    )


def run(given: argparse.Namespace) -> int:
    """Play on the page or in the terminal, as requested and possible."""
    word = given.opponent_or_game.partition(":")[0]
    if word.isidentifier() and find_kind(word) is None and not os.path.exists(word):
        find_game(word)  # an unknown word is taken for a game
    of_terminal = ("terminal", "resume", "json")
    asked = [f"--{name}" for name in of_terminal if getattr(given, name)]
    of_page = ["--no-browser"] * given.no_browser + ["--port"] * (given.port is not None)
    if asked and of_page:
        raise ValueError(
            f"{asked[0]} is for the terminal, {of_page[0]} for the page: leave one of them out"
        )
    if asked or not (of_page or sys.stdin.isatty()):
        return _play_in_terminal(given)
    try:
        if not given.no_browser:
            _check_browser()
        variant, fragment = _choose(given)
        with tempfile.TemporaryDirectory(prefix="ludarium-") as folder:
            return _serve(_site_with(variant, Path(folder)), fragment, given)
    except _NoPageError as error:
        if of_page:
            raise
        return _play_in_terminal(given, [f"{error}; you play in the terminal"])


def _play_in_terminal(given: argparse.Namespace, notes: Sequence[str] = ()) -> int:
    from .terminal import play_in_terminal  # imports for the terminal would delay the page

    return play_in_terminal(given, notes)


class _NoPageError(ValueError):
    """The page cannot do what is asked; the message gives the reason."""


def _choose(given: argparse.Namespace) -> tuple[Variant, str]:
    """The game, options and agent with which the page begins, and the end of its address.

    Raises:
        _NoPageError: the page has no such opponent.
        ValueError, FileNotFoundError: there is no such game, option or agent.
    """
    options = read_options(given.option)
    named = read_agent(given.opponent_or_game)
    if not isinstance(named, ShippedSpec | CheckpointSpec):
        raise _NoPageError(f"the page takes a game or a checkpoint, not {given.opponent_or_game}")
    opponent = named if given.opponent is None else read_agent(given.opponent)
    game = game_to_play(given.opponent_or_game, given.opponent, options)
    variant = (
        Variant.of_checkpoint(opponent, game)
        if isinstance(opponent, CheckpointSpec)
        else Variant.of(game)
    )
    asked = {"g": game.name, "o": variant.id}
    if given.position is not None:
        asked["f"] = variant.game.start(0, given.position).text
    against = _opponent(given, opponent, variant)
    if against:
        is_drawn = given.seat in (None, "random")
        seat = random.SystemRandom().randrange(2) if is_drawn else given.seat
        asked |= {"seat": str(seat), "opponent": against}
    return variant, urlencode(asked, safe=":=@/")


def _opponent(given: argparse.Namespace, spec: AgentSpec, variant: Variant) -> str:
    """The opponent in the page's words: ``level:3``, ``level:auto``, ``network:64`` or ``random``.

    If no network fits the game and an option asks for the page, it is empty: the person chooses.

    Raises:
        _NoPageError: the page has no such opponent.
        ValueError: the opponent plays another game, or there is no such level.
    """
    if isinstance(spec, ShippedSpec | CheckpointSpec) and _sets_simulations_alone(spec):
        if isinstance(spec, ShippedSpec) and spec.game != variant.game.name:
            raise ValueError(f"agent {given.opponent!r} plays {spec.game}, not {variant.game.name}")
        simulations = spec.with_simulations(given.simulations).simulations or 0
        most = Limits().simulations
        if not 1 <= simulations <= most:
            raise _NoPageError(
                f"a search on the page has 1 to {most} simulations, not {simulations}"
            )
        if variant.agent is not None:
            return f"network:{simulations}"
        if given.no_browser or given.port is not None:
            return ""
        raise _NoPageError(f"the page has no trained agent for {variant.game}")
    if isinstance(spec, LevelSpec) and spec == LevelSpec(level=spec.level):
        if spec.level == AUTO and variant.ladder is not None:
            return f"level:{AUTO}"
        if variant.ladder is not None:
            return f"level:{load_ladder(variant.ladder).number(spec.level)}"
    elif given.opponent == "random":
        return "random"
    raise _NoPageError(
        f"the page has no opponent {quoted(given.opponent or given.opponent_or_game)}"
    )


def _sets_simulations_alone(spec: ShippedSpec | CheckpointSpec) -> bool:
    """Whether an agent's name gives no setting but simulations, the one that the page has."""
    return str(spec) == f"{spec.subject}:{spec.simulations}"


def _check_browser() -> None:
    try:
        name = getattr(webbrowser.get(), "name", "")
    except webbrowser.Error:
        name = None
    if name is None or name in _TEXT_BROWSERS:
        raise _NoPageError(
            "there is no browser here that could show the page (--no-browser prints its address)"
        )


def _site_with(variant: Variant, folder: Path) -> Site:
    """The built page, with a variant that is made in a folder if the page lacks it.

    Raises:
        _NoPageError: it is not built, or the variant cannot be made.
    """
    try:
        from ludarium.play import parts
        from ludarium.play.site import Site

        site = Site.read(parts.BUILT)
        if site.is_current(variant):
            return site
        with shown_progress() as progress:
            return site.with_variant(variant, folder / "page", progress)
    except ModuleNotFoundError as error:
        raise _NoPageError(
            f'the page needs more packages ({error}): pip install "ludarium[wasm]"'
        ) from None
    except (ImportError, ValueError, OSError) as error:
        raise _NoPageError(str(error)) from None


def _serve(site: Site, fragment: str, given: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    # A browser would use a kept page even after the next installation.
    with PageServer(site.folder, given.port, is_kept=False) as server:
        address = f"{server.address}#{fragment}"
        output(f"{address}\nCtrl-C ends it")
        if not given.no_browser:
            Thread(target=webbrowser.open, args=[address], daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("\nthe page has ended")
    return 0
