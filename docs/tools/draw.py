"""The pictures of the gallery and of the games' rules.

python docs/tools/draw.py games           # an animation of a game of each report
python docs/tools/draw.py rules           # positions that show a rule
python docs/tools/draw.py ladders         # the levels of all games, by strength
python docs/tools/draw.py run FOLDER      # the learning curve and the times of a training run
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from ludarium.arena.ladder import load_ladder
from ludarium.envs import make_game
from ludarium.envs.engine.draw.film import gif
from ludarium.envs.engine.draw.picture import png

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "img"
#: The games that are animated, and the seconds for each ply.
GAMES = {
    "corso": 1.0,
    "onyx": 0.8,
    "osiron": 0.4,
    "obsidio": 0.5,
    "obelisk": 0.6,
}
#: The last plies of long games are what is worth seeing.
LONGEST = 60
WIDTH = 320
#: A fixed salt, so that the same picture gives the same file.
matplotlib.rcParams["svg.hashsalt"] = "ludarium"


def draw_games(names: list[str]) -> None:
    """Animate the first game worth replaying in the report of each game."""
    for name in names or GAMES:
        report = json.loads(
            (ROOT / "docs" / "reports" / f"{name}.json").read_text(encoding="utf-8")
        )
        record = report["reports"][0]["replays"][0]["record"]
        game = make_game(record["game"], **record["options"])
        position = game.start(record["seed"])
        pictures = [position.svg()]
        for text in record["moves"]:
            before, action = position.copy(), position.text_to_action(text)
            position.play(action)
            pictures.append(position.svg(action, before))
        content = gif(pictures[-LONGEST:], WIDTH, GAMES[name], last_seconds=3.0)
        (IMAGES / f"{name}.gif").write_bytes(content)
        print(f"{name}: {len(pictures) - 1} plies, {len(content):,} bytes", flush=True)


def draw_rules() -> None:
    """The positions in the READMEs of the games, with the last move and what it changed."""
    for name in GAMES:
        game = make_game(name)
        for file, moves, _ in game.pictured():
            (IMAGES / Path(file).name).write_bytes(png(game.picture_of(moves), 480))


def draw_ladders() -> None:
    """Draw the levels of all shipped ladders, each as a row of dots by Elo points."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    paths = sorted((ROOT / "models" / "shipped").glob("*.levels.json"), reverse=True)
    names = []
    for row, path in enumerate(paths):
        ladder = load_ladder(path)
        size = ladder.options.get("size")
        names.append(ladder.game.capitalize() + (f" {size} x {size}" if size else ""))
        ratings = [level.rating for level in ladder.levels]
        axes.plot([0, ratings[-1].value], [row, row], color="#b0b8c0", zorder=1)
        axes.scatter([each.value for each in ratings], [row] * len(ratings), s=230, zorder=2)
        for number, rating in enumerate(ratings, start=1):
            axes.annotate(
                str(number), (rating.value, row), color="white", size=8, ha="center", va="center"
            )
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="Elo points above random play", xlim=(0, None), ylim=(-0.6, len(names) - 0.4))
    axes.grid(axis="x", alpha=0.3)
    _save(figure, "ladders.svg")


def draw_run(folder: Path) -> None:
    """Draw the losses of a run by time, and the parts of each iteration's time."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    log: list[dict[str, Any]] = [json.loads(line) for line in lines]
    rated = [each for each in log if "elo" in each]
    panels = 3 if len(rated) > 1 else 2  # a run may have no evaluations
    figure, all_axes = plt.subplots(panels, 1, figsize=(8, 3 * panels))
    losses, times = all_axes[-2:]
    if len(rated) > 1:
        _draw_strength(all_axes[0], rated)
    minutes = [each["seconds"] / 60 for each in log]
    for name, words in (("policy_loss", "policy"), ("outcome_loss", "win, draw, loss")):
        losses.plot(minutes, [each[name] for each in log], marker=".", label=words)
    losses.set(xlabel="minutes", ylabel="loss, nats", ylim=(0, None))
    losses.legend()
    numbers = [each["iteration"] for each in log]
    ends = [each["seconds"] for each in log]
    whole = [end - start for start, end in zip([0.0, *ends], ends, strict=False)]
    play = [each["play_seconds"] for each in log]
    learn = [each["learn_seconds"] for each in log]
    rest = [max(0.0, w - p - n) for w, p, n in zip(whole, play, learn, strict=True)]
    below = [0.0] * len(log)
    for part, words in ((play, "self-play"), (learn, "learning"), (rest, "evaluation, saving")):
        times.bar(numbers, part, bottom=below, label=words)
        below = [a + b for a, b in zip(below, part, strict=True)]
    times.set(xlabel="iteration", ylabel="seconds")
    times.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    for axes in all_axes:
        axes.grid(alpha=0.3)
    _save(figure, "run.svg")
    total = sum(whole)
    shares = {name: sum(part) / total for name, part in (("play", play), ("learn", learn))}
    print(f"{total:.0f} s: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))


def _draw_strength(axes: Any, rated: list[dict[str, Any]]) -> None:
    """Draw Elo by time, for the iterations that were evaluated."""
    minutes = [each["seconds"] / 60 for each in rated]
    middle, low, high = ([each["elo"][end] for each in rated] for end in ("value", "low", "high"))
    axes.fill_between(minutes, low, high, alpha=0.2)
    axes.plot(minutes, middle, marker="o")
    axes.set(xlabel="minutes", ylabel="Elo (95 % interval)")


def _save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(IMAGES / name, metadata={"Date": None})
    print(IMAGES / name)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["games", *names]:
            draw_games(names)
        case ["rules"]:
            draw_rules()
        case ["ladders"]:
            draw_ladders()
        case ["run", folder]:
            draw_run(Path(folder))
        case _:
            sys.exit(__doc__)
