"""``ludarium language``: what a language model is worth, by games and by exact positions."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludarium.arena.folder import RECORDS, ArenaFolder, describe
from ludarium.base.durable import write_file
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, find_game
from ludarium.language.agent import LanguageSpec
from ludarium.language.evaluation import (
    FEWEST_GAMES,
    Asked,
    Rated,
    answers_in_all,
    ask_positions,
    exact_sets,
    losses,
    mistakes,
    rate,
)
from ludarium.language.page import render_page, report_text
from ludarium.language.text import PROMPTS
from ludarium.training.agents import AgentSpec, read_agent
from ludarium.training.agents.checkpoints import ShippedSpec, shipped_agents

from .arguments import (
    add_folder,
    add_games,
    add_json,
    add_options,
    add_seed,
    output_file,
    read_positive,
    read_seconds,
)
from .common import read_options
from .interrupt import STOPPED
from .progress import shown_progress
from .result import Result, warn

_JOURNAL = "answers.jsonl"
_POSITIONS, _WITHIN, _GAMES = 200, 100, 100

HELP = "measure a language model: a rating, or exact positions"
DESCRIPTION = """\
Let a language model play a little-known game, against random play and the game's levels, each time
the one nearest to its rating so far; then each of its moves is judged, exactly where a search
proves its value. Or ask it for its move in positions of exactly known value.

  ludarium language corso --agent "llm:NAME?endpoint=http://localhost:8000/v1" --folder mine
  ludarium language osiron --agent "llm:NAME?endpoint=https://host/v1&key=MY_KEY" --positions
  ludarium language corso --option size=7 --agent ... --positions 100 --seed 7
  ludarium language corso --agent uct:100             any other agent, by the same measure

The key comes from the environment variable LLM_API_KEY, or from the one that the setting key names;
it is written nowhere. With --folder every answer is kept, so that the same command goes on where it
was stopped, and neither asks nor counts anything twice; report.html is there too. Of --positions
half are from the fixed set that ships for some options, the others are made from --seed. `ludarium
agents llm` explains the settings of an agent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument("--agent", required=True, metavar="AGENT", help="the player to measure")
    parser.add_argument(
        "--positions",
        type=read_positive,
        nargs="?",
        const=_POSITIONS,
        metavar="N",
        help=f"ask exact positions instead of whole games ({_POSITIONS} without a number)",
    )
    add_games(parser, "most games", _GAMES)
    parser.add_argument(
        "--within",
        type=read_positive,
        default=_WITHIN,
        metavar="ELO",
        help=f"stop when the rating is known to plus or minus this, after {FEWEST_GAMES} games or "
        "more (default %(default)s)",
    )
    parser.add_argument(
        "--price",
        type=_read_prices,
        metavar="IN,OUT",
        help="prices of a million tokens asked and answered, if the endpoint names no cost",
    )
    parser.add_argument(
        "--output", type=output_file(".html"), metavar="FILE", help="write the report as a page"
    )
    add_folder(parser, "folder that keeps every answer, and from which the same command goes on")
    add_seed(parser, "seed of openings, opponents and fresh positions")
    add_options(parser)
    add_json(parser)


def _read_prices(text: str) -> tuple[float, float]:
    try:
        asked, answered = (
            0.0 if price == "0" else read_seconds(price) for price in text.split(",")
        )
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not two prices, such as 0.5,2") from None
    return asked, answered


def run(given: argparse.Namespace) -> Result:
    """Rate the agent, or ask it exact positions."""
    spec, name = read_agent(given.agent), find_game(given.game).name
    kind = ShippedSpec(game=name) if shipped_agents(name) else spec
    game = kind.choose_game(read_options(given.option), name)
    assert game is not None, "its name is given"
    store = None if given.folder is None else ArenaFolder(Path(given.folder))
    settings = {
        **describe("evaluation of a language model", game, {}),
        "agent": spec.label,
        "seed": given.seed,
        "positions": given.positions,
        "prompts": PROMPTS.version,
    }
    with nullcontext() if store is None else store.opened(settings):
        try:
            report, records = _measure(given, game, spec, store)
        except KeyboardInterrupt:
            if store is None:
                raise
            warn("stopped; the same command goes on")
            return Result(None, "", STOPPED)
        page = render_page(game, report, records)
        text = report_text(report)
        if store is not None:
            lines = "".join(f"{json.dumps(each)}\n" for each in records)
            write_file(store.path / RECORDS, lines.encode())
            store.write_results(report, text)
            write_file(store.path / "report.html", page.encode())
    if given.output is not None:
        given.output.write_text(page, encoding="utf-8")
    return Result(report, text)


def _measure(
    given: argparse.Namespace, game: Game, spec: AgentSpec, store: ArenaFolder | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the records of the games."""
    if store is not None and isinstance(spec, LanguageSpec):
        if spec.journal is not None:
            raise ValueError("--folder keeps the answers: leave journal out of the agent's name")
        spec = replace(spec, journal=store.path / _JOURNAL)
    agent = spec.make(game, given.seed)
    rated: Rated | None = None
    asked: list[Asked] = []
    records: list[dict[str, Any]] = []

    with shown_progress() as progress:
        if given.positions is None:
            rated = rate(agent, given.within, given.games, given.seed, progress)
            records = [each for games in rated.rounds for each in games.records()]
            judged = mistakes(losses(rated, progress), rated.games)
        else:
            for name, test in exact_sets(game, given.positions, given.seed, progress).items():
                asked.append(ask_positions(agent, name, test, progress))
    decisions = [
        each
        for some in [*(rated.decisions if rated else ()), *(each.decisions for each in asked)]
        for each in some
    ]
    report = {
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "agent": spec.label,
        "seed": given.seed,
        "prompts": PROMPTS.version,
        "rating": None if rated is None else rated.rating.to_dict(),
        "games": 0 if rated is None else rated.games,
        "opponents": []
        if rated is None
        else [
            {"opponent": name, "elo": rated.elo[name], **result.to_dict()}
            for name, result in rated.results.items()
        ],
        "mistakes": None if rated is None else judged,
        "positions": [each.to_dict() for each in asked],
        "answers": answers_in_all(decisions, given.price),
    }
    return report, records
