"""Plays a game with an exported network against random moves: onnxruntime and numpy, no torch.

    ludarium export onyx                     # writes onyx.onnx; needs ludarium[export]
    python examples/play_onnx.py onyx.onnx   # needs ludarium and onnxruntime

``ludarium.envs`` is used only for the rules: who moves, what they see, what is legal.
"""

import argparse
import json
import os
import sys

import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # the following import reads it
import onnxruntime

from ludarium.envs import make_game


def favourite(session, position):
    """The legal action with the highest probability, and the network's value of the position.

    A network sees the canonical frame and numbers actions in it: `turned_action` translates.
    """
    seen = position.observation(canonical=True)[None]
    (logits,), (value,) = session.run(["policy_logits", "value"], {"observation": seen})
    legal = position.legal_actions.tolist()
    return max(legal, key=lambda action: logits[position.turned_action(action)]), float(value)


def main():
    """Play one game, print its moves and the final board, return the network's reward."""
    parser = argparse.ArgumentParser(description="Play an exported network against random moves.")
    parser.add_argument("file", help="an ONNX file of `ludarium export`")
    parser.add_argument("--seat", type=int, choices=(0, 1), default=0, help="seat of the network")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moves")
    given = parser.parse_args()
    session = onnxruntime.InferenceSession(given.file, providers=["CPUExecutionProvider"])
    metadata = json.loads(session.get_modelmeta().custom_metadata_map["ludarium"])
    random = np.random.default_rng(given.seed)
    position = make_game(metadata["game"], **metadata["options"]).start(given.seed)
    while not position.is_over:
        if position.mover == given.seat:
            action, value = favourite(session, position)
            player = f"network {value:+.2f}"
        else:
            action, player = int(random.choice(position.legal_actions)), "random"
        print(f"{player:<16}{position.action_to_text(action)}")
        position.play(action)  # refuses an illegal one
    assert "torch" not in sys.modules
    reward = position.rewards[given.seat]
    print(position, f"the network {('draws', 'wins', 'loses')[reward]}", sep="\n")
    return reward


if __name__ == "__main__":
    main()
