"""The adapters in `examples/language/`, each against the package that it is for."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from tests.examples.test_examples import EXAMPLES, run

FOLDER = EXAMPLES / "language"


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def test_states_of_openspiel_are_json_and_begin_anywhere() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    import ludarium.envs.openspiel  # noqa: F401

    game = pyspiel.load_game("ludarium_corso(size=3)")
    state = game.new_initial_state()
    struct = state.action_to_struct(0, 4)
    assert struct.to_dict() == {"move": "b2"}
    assert state.apply_action_struct(struct).ok()
    told = json.loads(state.to_observation_struct(1).to_json())
    assert told["position"] == "3/1O1/3 1"
    assert told["board"][1] == "2 . O ."
    assert (told["current_player"], told["is_terminal"]) == ("player_1", False)
    assert not state.validate_action_struct(struct).ok()
    again = game.new_initial_state(state.to_struct())
    assert (again.to_json(), again.legal_actions()) == (state.to_json(), state.legal_actions())
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    told = json.loads(state.to_json())
    assert (told["current_player"], told["is_terminal"]) == ("Terminal", True)
    assert told["winner"] == f"player_{state.returns().index(1.0)}"


def test_the_arena_plays_by_structs_and_forfeits_after_three_answers() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    assert "rewards [" in run("language/openspiel_arena.py")
    import openspiel_arena

    asked = []

    def stubborn(messages):
        asked.append(messages)
        return "<move>b2</move>"

    game = pyspiel.load_game("ludarium_corso(size=3)")
    rewards, moves = openspiel_arena.play(game, [stubborn, stubborn])
    assert moves == [{"move": "b2"}]
    assert rewards == [1.0, -1.0]
    assert len(asked) == 1 + openspiel_arena.TRIES
    assert "Legal moves" not in str(asked)
    assert "the marble on b2 is the opponent's" in asked[-1][-1]["content"]


def _episode(vf, reward: str, answer):
    """Play task 1, only the model's turns being scripted; return what its trace was told."""
    import verifiers_games

    config = verifiers_games.GameConfig(
        id="verifiers_games", game="corso", options={"size": 3}, opponent="random"
    )
    tasks = iter(verifiers_games.GameTaskset(config))
    next(tasks)
    task, rewards, metrics, info = next(tasks), {}, {}, {}
    trace = SimpleNamespace(
        record_reward=lambda name, value, weight: rewards.__setitem__(name, (value, weight)),
        record_metric=metrics.__setitem__,
        info=info,
    )

    async def turn(message=None):
        question = task.data.prompt if message is None else message
        reply = vf.types.AssistantMessage(content=answer(question))
        return vf.agent.Segment(messages=[reply])

    @asynccontextmanager
    async def interaction(_):
        yield SimpleNamespace(turn=turn, trace=trace)

    made = verifiers_games.GameEnvConfig(taskset=config, reward=reward)
    agents = SimpleNamespace(player=SimpleNamespace(interaction=interaction))
    asyncio.run(verifiers_games.GameEnv(made).run(task, agents))
    return task, rewards, metrics, info


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["result", "value"])
def test_verifiers_rewards_results_or_values(reward: str) -> None:
    vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")

    from ludarium.envs import make_game
    from ludarium.language.scripted import agent_script
    from ludarium.language.text import PROMPTS

    game = make_game("corso", size=3)
    plays = agent_script("endgame:random", game)
    questions = []

    def answer(question):
        questions.append(question)
        if len(questions) == 1:
            return "no idea"
        told = question if "Board" in question else questions[0]
        return plays([{}, {"content": told}])

    task, rewards, metrics, info = _episode(vf, reward, answer)
    assert task.data.system_prompt == PROMPTS.rules(game)
    assert "You are player_1" in task.data.prompt
    assert "not a legal move" in questions[1]
    assert metrics == {"illegal_answers": 1.0}
    assert rewards["value_kept"] == (1.0, float(reward == "value"))
    assert rewards["result"][1] == float(reward == "result")
    game.start().play_moves(" ".join(info["moves"]))
    rewards = _episode(vf, reward, lambda question: "I will not")[1]
    assert rewards["result"][0] == 0
