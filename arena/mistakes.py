"""How much of a position's value the moves of each level lose, by a stronger search, as a picture.

A level's moves are taken from games that it plays against itself. The reference is a search of the
same network with more simulations: of the position, and, where the level played another move than
the reference would, of the position after that move too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING, reward
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import play_match
from ludarium.training.evaluation.match import PlayedGame
from ludarium.training.runs.files import write_file

from .ladder import Ladder
from .level import LevelAgent

DEFAULT_REFERENCE = 256
_GAMES = 40
_LOST = -0.9  # a value from which down there is nothing left to lose

#: Ends of the groups of losses in the picture.
_BINS = (0.02, 0.1, 0.3, 0.7, 1.2, 2.0)


def measure_losses(
    game: Game,
    network: PolicyValueNetwork,
    ladder: Ladder,
    moves: int = 200,
    simulations: int = DEFAULT_REFERENCE,
    seed: int = 1,
    say: Callable[[str, int, int], None] = lambda *_: None,
) -> list[np.ndarray]:
    """What the moves of each level lose, float64[moves or fewer] in [0, 2] for each level.

    Moves in positions that are lost anyway, by the reference, are left out.

    Args:
        game: the rules.
        network: with its weights.
        ladder: its levels.
        moves: of each level, drawn from 40 games that it plays against itself.
        simulations: of the reference.
        seed: of the games and of the draw.
        say: called with the title of the work, and how many levels are done of how many.
    """
    reference = NetworkAgent(game, network, simulations, "reference")
    losses = []
    for index, level in enumerate(ladder.levels):
        say("measuring mistakes, levels", index, len(ladder.levels))
        players = [LevelAgent(game, network, level.knobs, name) for name in ("one", "other")]
        match = play_match(game, players[0], players[1], _GAMES, seed=seed)
        states, actions = _decisions(game, match.played)
        drawn = np.random.default_rng(seed).permutation(len(states))[:moves]
        lost, best = losses_of(game, reference, states[drawn], actions[drawn])
        losses.append(lost[best > _LOST])
    return losses


def losses_of(
    game: Game, reference: NetworkAgent, states: np.ndarray, actions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What actions lose against the best that a reference finds.

    Args:
        game: the rules.
        reference: searches.
        states: structured array [N], no game over.
        actions: int[N], legal in them.

    Returns:
        The losses, float64[N] in [0, 2], and the values of the positions, float32[N] in [-1, 1].
    """
    found = reference.search(states)
    losses = np.zeros(len(states))
    others = np.flatnonzero(found.actions != actions)
    if not len(others):
        return losses, found.values
    after = states[others].copy()
    for state, action in zip(after, actions[others], strict=True):
        game.rules.step(game.tables[0], state, int(action))
    movers = states["mover"][others]
    values = np.array(
        [
            reward(int(state["outcome"]), int(mover))
            for state, mover in zip(after, movers, strict=True)
        ],
        np.float64,
    )
    going = np.flatnonzero(after["outcome"] == ONGOING)
    if len(going):
        sign = np.where(after["mover"][going] == movers[going], 1.0, -1.0)
        values[going] = sign * reference.search(after[going]).values
    losses[others] = np.maximum(found.values[others] - values, 0)
    return losses, found.values


def draw_losses(title: str, losses: Sequence[np.ndarray], path: Path) -> None:
    """Draw the losses of all levels, as SVG or by the file's suffix as another format.

    Left: the share of moves that lose more than x, a curve for each level. Right: shares of moves
    by size of the loss.

    Raises:
        StorageError: the file cannot be written.
    """
    from io import BytesIO

    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, len(losses)))
    for number, (each, colour) in enumerate(zip(losses, colours, strict=True), 1):
        ordered = np.sort(each)
        share = 1 - np.arange(1, len(ordered) + 1) / len(ordered)
        left.step([0, *ordered], [1, *share], where="post", color=colour, label=str(number))
    left.set(
        xlabel="loss of value (win to loss = 2)",
        ylabel="share of moves that lose more",
        xlim=(0, 2),
        ylim=(0, 1.1 * max((each > 0).mean() for each in losses) + 0.01),
    )
    left.legend(title="level", ncols=2, fontsize="small")
    left.grid(alpha=0.3)
    _draw_groups(right, losses)
    figure.suptitle(title)
    content = BytesIO()
    matplotlib.rcParams["svg.hashsalt"] = "ludarium"
    kind = path.suffix.lstrip(".") or "svg"
    figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else None)
    write_file(path, content.getvalue())


def _draw_groups(axes: object, losses: Sequence[np.ndarray]) -> None:
    """Bars: for each level the shares of moves by size of the loss."""
    import matplotlib

    shades = matplotlib.colormaps["magma_r"](np.linspace(0.05, 0.85, len(_BINS)))
    numbers = np.arange(1, len(losses) + 1)
    below = np.zeros(len(losses))
    low = -1.0
    for high, shade in zip(_BINS, shades, strict=True):
        share = np.array([((each > low) & (each <= high)).mean() for each in losses])
        label = f"up to {high:g}"
        axes.bar(numbers, share, bottom=below, color=shade, label=label, width=0.9)  # type: ignore[attr-defined]
        below += share
        low = high
    axes.set(xlabel="level", ylabel="share of moves", xticks=numbers, ylim=(0, 1))  # type: ignore[attr-defined]
    axes.legend(title="loss", loc="lower right", fontsize="small")  # type: ignore[attr-defined]


def _decisions(game: Game, played: Sequence[PlayedGame]) -> tuple[np.ndarray, np.ndarray]:
    """Positions, structured array [N], in which a player had a choice, and the actions there."""
    states, actions = [], []
    for each in played:
        position = game.start(each.seed)
        for ply, action in enumerate(each.actions):
            if ply >= each.opening_plies and len(position.legal_actions) > 1:
                states.append(position.states[0].copy())
                actions.append(action)
            position.play(action)
    return np.array(states, game.state_dtype), np.array(actions, np.int64)
