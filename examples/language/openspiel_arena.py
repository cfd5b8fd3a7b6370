"""A game as Kaggle's Game Arena plays it: JSON observations and actions of OpenSpiel 2, in text.

    python examples/language/openspiel_arena.py
    python examples/language/openspiel_arena.py --game "ludarium_osiron(setup=alternating)" \
        --model "llm:NAME?endpoint=http://localhost:8000/v1"

The harness uses OpenSpiel's own interface: a state's observation struct is JSON, an answer becomes
an action struct, and OpenSpiel says whether that is legal. The model gets the rules as text, the
observation, and no list of legal moves; after three answers that are not legal it loses. Its
opponent, and without --model both players, move at random.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence

import pyspiel

import ludarium.envs.openspiel  # noqa: F401  registers the games
from ludarium.language.agent import LanguageAgent
from ludarium.language.text import PROMPTS, read_answer
from ludarium.training.agents import make_agent

TRIES = 3

#: From a conversation to an answer.
Ask = Callable[[Sequence[dict[str, str]]], str]


def observed(state: pyspiel.State, player: int) -> str:
    """What the harness shows a player: one line of JSON."""
    return str(state.to_observation_struct(player).to_json())


def choose(state: pyspiel.State, ask: Ask) -> pyspiel.ActionStruct | None:
    """A legal action struct out of at most `TRIES` answers; None if there is none."""
    player = state.current_player()
    messages = [
        {"role": "system", "content": PROMPTS.rules(state.get_game().rules)},
        {"role": "user", "content": f"{observed(state, player)}\nYou are player_{player}."},
    ]
    for _ in range(TRIES):
        answer = ask(messages)
        said = read_answer(state.position, answer)
        if said.action is not None:
            struct = state.action_to_struct(player, said.action)
            assert state.validate_action_struct(struct).ok(), "both read the same rules"
            return struct
        messages += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": PROMPTS.correction(said)},
        ]
    return None


def play(game: pyspiel.Game, players: Sequence[Ask]) -> tuple[list[float], list[dict]]:
    """Play a game; return both players' rewards, and each move as it was read."""
    state = game.new_initial_state()
    moves: list[dict] = []
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(state.legal_actions()[0])
            continue
        player = state.current_player()
        struct = choose(state, players[player])
        if struct is None:
            return [-1.0 if seat == player else 1.0 for seat in (0, 1)], moves
        moves.append(json.loads(struct.to_json()))
        state.apply_action_struct(struct)
    return state.returns(), moves


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="ludarium_corso(size=4)")
    parser.add_argument("--model", help="llm:NAME?endpoint=URL")
    arguments = parser.parse_args()
    game = pyspiel.load_game(arguments.game)

    def at_random(messages: Sequence[dict[str, str]]) -> str:
        told = json.loads(messages[1]["content"].split("\n")[0])
        state = game.new_initial_state({"position": told["position"]})
        action = random.choice(state.legal_actions())
        text = state.action_to_string(state.current_player(), action)
        return f"Why not?\n<move>{text}</move>"

    ask: Ask = at_random
    if arguments.model is not None:
        agent = make_agent(arguments.model, game.rules)
        assert isinstance(agent, LanguageAgent), "a model's name begins with llm:"
        ask = lambda messages: agent.endpoint.ask(messages).text  # noqa: E731
    rewards, moves = play(game, [ask, at_random])
    print(f"{arguments.game}: {' '.join(move['move'] for move in moves)}")
    print(f"rewards {rewards}")


if __name__ == "__main__":
    main()
