"""Algorithms of OpenSpiel on our games: tree search, and exploitability on a tiny board.

    python examples/openspiel_algorithms.py
    python examples/openspiel_algorithms.py --game "ludarium_onyx(size=6)" --simulations 20

Masks: OpenSpiel has `state.legal_actions()` instead; importing ludarium.envs.openspiel registers
our games, with their options as parameters.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyspiel
from open_spiel.python.algorithms import cfr, exploitability, minimax
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator
from open_spiel.python.policy import UniformRandomPolicy

import ludarium.envs.openspiel  # noqa: F401  registers the games

TINY = "ludarium_corso(size=2)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--game", default="ludarium_corso(size=3)", help="the game of the tree search"
    )
    parser.add_argument("--games", type=int, default=20, help="games against random play")
    parser.add_argument("--simulations", type=int, default=50, help="simulations for each move")
    parser.add_argument(
        "--iterations", type=int, default=20, help="iterations of regret minimisation"
    )
    arguments = parser.parse_args()

    tiny = pyspiel.load_game(TINY)
    value, _ = minimax.alpha_beta_search(tiny)
    print(f"{TINY}: value {value:+.0f} for player 0 by alpha-beta search")
    solver = cfr.CFRPlusSolver(tiny)
    before = exploitability.exploitability(tiny, UniformRandomPolicy(tiny))
    for _ in range(arguments.iterations):
        solver.evaluate_and_update_policy()
    after = exploitability.exploitability(tiny, solver.average_policy())
    print(f"{TINY}: exploitability {before:.3f} of random play, {after:.3f} after CFR+")

    game, random = pyspiel.load_game(arguments.game), np.random.RandomState(0)
    bot = MCTSBot(
        game,
        uct_c=1.4,
        max_simulations=arguments.simulations,
        evaluator=RandomRolloutEvaluator(1, random),
        random_state=random,
    )
    points = [play(game, bot, seat=number % 2, random=random) for number in range(arguments.games)]
    print(f"{arguments.game}: score against random play: {np.mean(points):.1%} by tree search")


def play(game: pyspiel.Game, bot: MCTSBot, seat: int, random: np.random.RandomState) -> float:
    """Points of the bot in one game against random play: 1, 0, or 0.5 for a draw."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            action = random.choice([outcome for outcome, _ in state.chance_outcomes()])
        elif state.current_player() == seat:
            action = bot.step(state)
        else:
            action = random.choice(state.legal_actions())
        state.apply_action(int(action))
    return (1 + state.returns()[seat]) / 2


if __name__ == "__main__":
    main()
