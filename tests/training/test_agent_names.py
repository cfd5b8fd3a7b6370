"""Agents by name: what is understood, what comes first, and what other packages add."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import Meta

from ludarium.configs.schema import search_options
from ludarium.envs import Game, make_game
from ludarium.models import save_checkpoint
from ludarium.training import networks
from ludarium.training.agents import Needs, labels_of, make_agent, names, read_agent, spec_of
from ludarium.training.agents.checkpoints import CheckpointSpec, ShippedSpec
from ludarium.training.agents.names import agent_kinds
from ludarium.training.agents.settings import settings_of, settings_text, split_settings
from ludarium.training.evaluation import play_match
from ludarium.training.search import SearchSettings
from tests.checkpoints import tiny_checkpoint
from tests.installed import install
from tests.tictactoe import TicTacToe


@pytest.fixture
def game() -> Game:
    return TicTacToe()


@pytest.fixture
def run(game: Game, tmp_path: Path) -> Path:
    """The folder of a run of a tiny network."""
    file = tmp_path / "run" / "agent.safetensors"
    return save_checkpoint(tiny_checkpoint(game), file).parent


@pytest.mark.parametrize(
    ("game", "options"), [("corso", {"size": 99}), ("corso", {"colour": 1}), ("draughts", {})]
)
def test_a_checkpoint_of_another_game_or_other_rules_is_named(tmp_path, game, options) -> None:
    checkpoint = tiny_checkpoint(make_game("corso"), game=game, options=options)
    path = save_checkpoint(checkpoint, tmp_path / "strange.safetensors")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: "):
        read_agent(str(path)).choose_game({})
    with pytest.raises(ValueError, match=r"^checkpoint strange"):  # also where its shapes fit
        make_agent(str(path), make_game("corso"))


def test_a_checkpoint_of_another_board_says_that_it_has_one(tmp_path: Path) -> None:
    path = save_checkpoint(tiny_checkpoint(make_game("corso", size=3)), tmp_path / "mine")
    told = r"'size': 3}, does not fit the rules of Corso\(size=5\): give its options"
    with pytest.raises(ValueError, match=told):
        make_agent(str(path), make_game("corso"))


def test_settings_are_what_stands_in_the_place_of_the_number(game: Game, run: Path) -> None:
    for spec in ("random", "greedy", "uct:1000", "alphabeta:4"):
        assert make_agent(spec.partition(":")[0], game).name == make_agent(spec, game).name == spec
    for spec in ("uct:7", "uct?playouts=7", "uct:playouts=7", "uct?playouts=7&exploration=0.7"):
        assert make_agent(spec, game).name == "uct:7"
    assert read_agent("alphabeta:1") == read_agent("alphabeta?depth=1") == read_agent("greedy")
    for spec in ("uct:7?exploration=1.4", "uct?time=5ms&exploration=0"):
        assert make_agent(spec, game).name == spec
    for spec in (f"{run}:8", f"{run}?simulations=8", f"{run}:simulations=8"):
        assert make_agent(spec, game).name == "run:8"
    drawn = make_agent(f"{run}:8?temperature=0.5", game)
    assert drawn.name == "run:8?temperature=0.5"
    assert make_agent(drawn.name.replace("run", str(run), 1), game).name == drawn.name


def test_the_text_of_settings_is_read_as_these_settings() -> None:
    settings = {"simulations": 8, "time": None, "temperature": "0.5"}
    assert settings_text(settings) == "?simulations=8&temperature=0.5"
    assert split_settings("a" + settings_text(settings)) == (
        "a", {"simulations": "8", "temperature": "0.5"}
    )  # fmt: skip
    assert settings_text({"time": None}) == ""


@pytest.mark.parametrize(
    ("name", "same", "written"),
    [
        ("uct", "uct?playouts=1000&exploration=0.7", "uct:1000"),
        ("uct?time=1500ms&exploration=0.1234567", "uct:time=1.5s?exploration=0.1234567", None),
        ("uct?time=1.03min", "uct?time=61.8s", "uct?time=61.8s"),
        ("alphabeta", "alphabeta:4", "alphabeta:4"),
        ("corso", "shipped:corso?simulations=64&algorithm=gumbel&temperature=0", "corso:64"),
        ("corso?time=1s&lcb=3&c_puct=1.5", "corso?time=1000ms&algorithm=puct", "corso?time=1s"),
        ("pocket:corso", "pocket:corso:64", "pocket:corso:64"),
        ("./mine.onnx/agent:0", "mine.onnx/agent?simulations=0", "mine.onnx/agent:0"),
        ("onnx:a/b.onnx?simulations=8", "onnx:./a/b.onnx?simulations=8", None),
        ("hf:ada/corso@main", "hf:ada/corso@main:64", "hf:ada/corso@main:64"),
        ("engine:./bot --fast?limit=1m&x?time=2s", "engine:./bot --fast?limit=1m&x?time=2s", None),
        ("level:3?ladder=mine.json", "level:03?ladder=mine.json", None),
        ("endgame:uct?points=true&positions=100000", "endgame:uct:1000?points=true", None),
        ("endgame:uct:9?exploration=1&positions=7", "endgame:uct:9?positions=7&exploration=1", ""),
    ],
)  # fmt: skip
def test_what_plays_alike_is_equal_and_written_as_the_name_that_means_it(
    name: str, same: str, written: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.onnx" / "agent").mkdir(parents=True)
    spec, other = read_agent(name), read_agent(same)
    assert spec == other
    assert hash(spec) == hash(other)
    assert read_agent(str(spec)) == spec
    assert (written or str(spec)) == str(spec)
    assert spec != read_agent("random")


def test_what_plays_differently_differs() -> None:
    names = [
        "uct",
        "uct:9",
        "corso",
        "corso:65",
        "pocket:corso",
        "corso?time=1s",
        "corso:9?score=0.1",
    ]
    names += ["corso?time=2s", "corso?temperature=1e-7", "endgame:corso", "level:1", "level:auto"]
    specs = [*map(read_agent, names)]
    assert len(set(specs)) == len(set(map(str, specs))) == len(names)


def test_a_spec_says_what_it_needs() -> None:
    for name, needs in (
        ("uct", Needs.NOTHING),
        ("greedy", Needs.SCORE),
        ("corso", Needs.NETWORK),
        ("corso?score=0.1", Needs.NETWORK | Needs.SCORE),
        ("endgame:alphabeta", Needs.SCORE),
        ("level:1", Needs.NETWORK),
        ("python:math:gcd", Needs.CODE | Needs.ONE_THREAD),
        ("engine:./bot", Needs.CODE),
    ):
        assert read_agent(name).needs == needs


def test_agents_with_one_label_get_their_whole_names_where_they_meet(game: Game, run: Path) -> None:
    copy = shutil.copytree(run, run.parent / "copy" / "run")
    one, other = read_agent(f"{run}:1"), read_agent(f"{copy}:1")
    assert one.label == other.label == "run:1"
    labels = labels_of([one, read_agent("random"), other]).values()
    assert [*labels] == [f"{run}:1", "random", f"{copy}:1"]
    assert labels_of([one, one]) == {one: "run:1"}
    policies = [spec_of(each, name="mine") for each in (lambda _: 0, lambda _: 1)]
    assert [*labels_of(policies).values()] == ["mine (1)", "mine (2)"]
    assert play_match(game, f"{run}:1", f"{copy}:1", 2).players == (f"{run}:1", f"{copy}:1")
    assert play_match(game, f"{run}:1", f"{run}:1", 2).players == ("run:1", "run:1")


def test_a_path_may_have_any_characters(game: Game, run: Path) -> None:
    odd = run.rename(run.with_name("a?b=c"))
    assert make_agent(str(odd), game).name == "a?b=c:64"


def test_names_out_of_a_file_run_no_code(game: Game) -> None:
    with pytest.raises(ValueError, match="python: runs code, so it is not taken from a file"):
        make_agent("python:math:gcd", game, from_file=True)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("stockfish", "no agent is called 'stockfish'"),
        ("stockfish", "known after register_game;"),
        ("stockfish:8", "no agent is called 'stockfish:8'"),
        ("", "no agent is called ''"),
        (":5", "no agent is called ':5'"),
        ("a\0b", "no agent is called"),
        ("x" * 100_000, "no agent is called 'xxx"),
        (5, "an agent is made by its name, a text, not 5; as_agent takes other players"),
        (None, "an agent is made by its name, a text, not None"),
    ],
)
def test_an_unknown_name_is_refused_with_what_is_accepted(
    game: Game, spec: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as refusal:
        make_agent(spec, game)
    message = str(refusal.value)
    for form in ("random", "uct[:PLAYOUTS]", "GAME[:SIMULATIONS]", "PATH[:SIMULATIONS]"):
        assert form in message
    assert len(message) < 500


@pytest.mark.parametrize("spec", ["runs/nope", "runs/nope:64", "./uct", "nope.onnx?simulations=8"])
def test_a_file_that_is_missing_is_told_without_the_grammar(game: Game, spec: str) -> None:
    with pytest.raises(ValueError, match=r"^agent '[^']*': no such file or folder; `ludarium"):
        make_agent(spec, game)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            "uct:many",
            "agent 'uct:many': 'many' is not a whole number .*; accepted: uct.:PLAYOUTS.$",
        ),
        ("uct:", "agent 'uct:': '' is not a whole number"),
        ("uct:" + "9" * 5000, "is not a whole number of at most 12 digits"),
        ("alphabeta:-1", "agent 'alphabeta:-1': '-1' is not a whole number"),
        ("random:3", "agent 'random:3': it takes no number"),
        ("corso:fast", "'fast' is not a whole number .*; accepted: GAME.:SIMULATIONS.$"),
        ("shipped", "agent 'shipped': '' is not a game"),
        ("uct?playouts", "agent 'uct.playouts': the setting 'playouts' is not KEY=VALUE"),
        ("uct:5?playouts=6", "playouts is set twice, as '5' and by its name"),
        ("uct?playouts=5&playouts=6", "'playouts' is set twice"),
        ("uct?depth=5", "there is no setting 'depth'; accepted here: playouts, time, exploration"),
        ("random?depth=5", "there is no setting 'depth'; it takes none"),
        ("uct?exploration=nan", "'nan' is not a number from 0 on"),
        ("corso?temperature=-1", "'-1' is not a number from 0 on"),
        ("onnx", "onnx needs a file: onnx:FILE"),
        ("python:mine", "write python:MODULE:OBJECT"),
        ("python:no_such:play", "cannot be imported .ModuleNotFoundError.*looked for in Python's"),
        ("python:math:sqtr", "math has no 'sqtr' .*; did you mean sqrt"),
        ("shipped:chess", "agent 'shipped:chess': 'chess' is not a game"),
    ],
)
def test_a_wrong_name_of_a_known_kind_is_refused_with_its_form(
    game: Game, spec: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as refusal:
        make_agent(spec, game)
    assert "PATH[" not in str(refusal.value)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("uct:0", "uct playouts is 0; accepted"),
        ("alphabeta:0", "alphabeta depth is 0; accepted"),
        ("uct?time=1", "not a time such as 500ms"),
        ("uct?time=0.5ms", "1 ms to 1 h"),
        ("uct?time=2h", "1 ms to 1 h"),
        ("uct:100?time=1s", "playouts or a time"),
        ("corso:100?time=1s", "simulations or a time"),
    ],
)
def test_a_number_out_of_range_is_refused(game: Game, spec: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make_agent(spec, game)


def test_a_game_means_the_trained_agent_that_comes_along() -> None:
    assert read_agent("corso") == ShippedSpec(game="corso", simulations=None)
    assert read_agent("corso:128") == ShippedSpec(game="corso", simulations=128)
    assert read_agent("shipped:corso:0") == ShippedSpec(game="corso", simulations=0)
    agent = make_agent("corso:0", make_game("corso"))
    assert agent.name == "corso:0"
    with pytest.raises(ValueError, match="plays corso version 0, not tictactoe"):
        make_agent("corso", TicTacToe())


def test_a_checkpoint_of_another_version_of_the_game_is_refused(
    game: Game, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TicTacToe, "version", 1)
    with pytest.raises(ValueError, match="plays tictactoe version 0, not tictactoe version 1"):
        make_agent(f"{run}:0", game)


def test_a_checkpoint_of_rules_that_changed_without_a_new_version_is_refused(
    game: Game, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = networks.network_shape(game)
    other = replace(network, observation=(4, 3, 3))
    monkeypatch.setattr(networks, "network_shape", lambda game: other)
    told = f"does not fit {re.escape(str(game))}: version and options are the same, but not obser"
    with pytest.raises(ValueError, match=told):
        make_agent(f"{run}:0", game)


def test_of_several_trained_agents_the_one_for_the_options_is_meant() -> None:
    onyx = read_agent("onyx")
    assert isinstance(onyx, ShippedSpec)
    for size, file in ((6, "onyx"), (8, "onyx-all"), (12, "onyx-all")):
        options = make_game("onyx", size=size, max_plies=99).options
        assert onyx.checkpoint_path(options).stem == file


def test_a_path_means_a_checkpoint_or_a_run(game: Game, run: Path) -> None:
    for path in (run, run / "agent.safetensors"):
        assert read_agent(str(path)) == CheckpointSpec(path=path, simulations=None)
        assert read_agent(f"{path}:9") == CheckpointSpec(path=path, simulations=9)
        with pytest.raises(ValueError, match="'fast' is not a whole number"):
            read_agent(f"{path}:fast")
    assert make_agent(f"{run}:2", game).name == "run:2"
    assert make_agent(str(run), game).name == "run:64"
    (run / "agent.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at"):
        make_agent(str(run), game)


@pytest.mark.parametrize("name", ["uct", "uct:7", "corso"])
def test_a_kind_or_game_comes_before_a_file_of_its_name_with_a_warning(
    name: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    run.rename(name.partition(":")[0])
    with pytest.warns(UserWarning, match=f"agent '{name}' does not mean the file .* write ./"):
        assert not isinstance(read_agent(name), CheckpointSpec)
    path = f"./{name.partition(':')[0]}"
    assert read_agent(path) == CheckpointSpec(path=Path(path), simulations=None)


# Kinds of other packages.


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which packages can be installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    names._installed_kinds.cache_clear()
    yield folder
    names._installed_kinds.cache_clear()


def test_an_installed_package_adds_kinds(game: Game, packages: Path) -> None:
    code = (
        "from dataclasses import dataclass\n"
        "from ludarium.training.agents import *\n"
        "class Lazy(RandomAgent):\n"
        "    '''Plays anything.'''\n"
        "def words(rules, its_seed):\n"
        "    return 'not an agent'\n"
        "@dataclass(frozen=True)\n"
        "class Some(AgentSpec):\n"
        "    usage = 'letters:WORD'\n"
        "    help = 'as many playouts as letters'\n"
        "    argument = 'word'\n"
        "    word: str = setting(str, 'whose letters are counted', '')\n"
        "    times: int = setting(int, 'how often', 1)\n"
        "    def make(self, game, seed=None):\n"
        "        return make_agent(f'uct:{len(self.word) * self.times}', game, seed)\n"
    )
    points = {"lazy": "mybots_a:Lazy", "letters": "mybots_a:Some", "words": "mybots_a:words"}
    install(packages, "my-bots", {"mybots_a.py": code}, {"ludarium.agents": points})
    assert type(make_agent("lazy", game)).__name__ == "Lazy"
    assert read_agent("lazy") == read_agent("lazy") != read_agent("random")
    assert read_agent("lazy").needs == Needs.CODE
    with pytest.raises(ValueError, match="words made 'not an agent', which is not an Agent"):
        make_agent("words", game)
    assert make_agent("letters:abc:de", game).name == "uct:6"
    assert make_agent("letters?word=abc&times=3", game).name == "uct:9"
    with pytest.raises(ValueError, match="'size'; accepted here: word, times"):
        make_agent("letters:abc?size=3", game)
    with pytest.raises(ValueError, match="agent 'lazy:3': it takes no number"):
        make_agent("lazy:3", game)
    kinds = agent_kinds()
    assert (kinds["lazy"].usage, kinds["lazy"].help) == ("lazy", "plays anything")
    assert kinds["letters"].usage == "letters:WORD"
    lines = {key: about["help"] for key, about in settings_of(kinds["letters"]).items()}
    assert lines == {"word": "whose letters are counted", "times": "how often"}
    with pytest.raises(ValueError, match=r"accepted: .*lazy, .*letters"):
        make_agent("stockfish", game)


def test_a_package_that_cannot_be_used_is_named_and_breaks_nothing_else(
    game: Game, packages: Path
) -> None:
    code = "raise RuntimeError('out of order')"
    points = {"lazy": "mybots_b:Lazy", "uct": "mybots_b:UCT"}
    install(packages, "broken-bots", {"mybots_b.py": code}, {"ludarium.agents": points})
    with pytest.warns(UserWarning, match="package broken-bots is left out: there is a kind"):
        names._installed_kinds()
    assert make_agent("uct:7", game).name == "uct:7"
    with pytest.raises(ValueError, match=r"broken-bots cannot be imported .*out of order"):
        make_agent("lazy", game)
    with pytest.warns(UserWarning, match="installed package broken-bots cannot be imported"):
        assert "lazy" not in agent_kinds()


def test_a_share_of_the_score_is_for_games_and_networks_with_one() -> None:
    corso, onyx = make_game("corso"), make_game("onyx", size=6)
    agent = make_agent("corso:8?score=0.1", corso)
    assert agent.name == "corso:8?score=0.1"
    assert make_agent(agent.name, corso).name == agent.name
    timed = make_agent("corso?time=50ms&score=0.1", corso)
    assert timed.name == "corso?time=50ms&score=0.1"
    assert make_agent("corso?time=50ms&lcb=0", corso).name == "corso?time=50ms&lcb=0"
    with pytest.raises(ValueError, match="lcb is for a time"):
        make_agent("corso:8?lcb=3", corso)
    for refused, reason in (
        ("onyx:8?score=0.1", "counts no points to play for"),
        ("corso:8?score=1", "from 0 to below 1"),
        ("corso:0?score=0.1", "score is for a search"),
        ("uct:10?score=0.1", "there is no setting 'score'"),
    ):
        with pytest.raises(ValueError, match=reason):
            make_agent(refused, onyx if refused.startswith("onyx") else corso)


def test_names_set_options_of_the_search() -> None:
    name = "corso:8?algorithm=puct&c_puct=2&solver=false"
    found = read_agent("corso:8?solver=false&algorithm=puct&c_puct=2.0")
    assert isinstance(found, ShippedSpec)
    assert found == read_agent(name)
    assert found.settings == SearchSettings(algorithm="puct", c_puct=2.0, solver=False)
    assert make_agent(name, make_game("corso")).name == name
    assert make_agent("corso?time=1s&c_puct=2", make_game("corso")).name == "corso?time=1s&c_puct=2"
    for refused, reason in (
        ("corso?c_puct=2", "c_puct is for puct, and this search is gumbel: give algorithm=puct"),
        ("corso?time=1s&max_considered=8", "max_considered is for gumbel"),
        ("corso?time=1s&algorithm=gumbel", "with a time the search is puct"),
        ("corso?max_considered=0", "max_considered .* is 0; accepted: a whole number from 1 to"),
        ("corso?solver=yes", "'yes' is neither true nor false"),
        ("corso:0?solver=false", "solver is for a search"),
        ("corso?noise=1", "there is no setting 'noise'"),
        ("corso?prove=true", "no setting 'prove': it is called solver"),
        ("corso?time=1s&bound=0", "no setting 'bound': it is called lcb"),
    ):
        with pytest.raises(ValueError, match=reason):
            read_agent(refused)


def test_an_option_that_is_none_by_default_is_read_by_its_type(monkeypatch) -> None:
    (plies,) = (each for each in search_options() if each.default is None)
    option = replace(plies, meta=Meta(extra={"in_names": True}))
    monkeypatch.setattr("ludarium.training.agents.settings.OPTIONS", (option,))
    assert settings_of(ShippedSpec)[plies.name]["read"]("12") == 12


def test_a_network_that_has_not_learnt_the_score_does_not_play_for_it(tmp_path: Path) -> None:
    corso = make_game("corso", size=3)
    for notes in ({"algorithm": "ppo"}, {"config": {"learner": {"score_weight": 0}}}):
        checkpoint = tiny_checkpoint(corso, notes=notes)
        path = save_checkpoint(checkpoint, tmp_path / "agent.safetensors")
        assert make_agent(f"{path}:2", corso).name == "agent:2"
        with pytest.raises(ValueError, match="has not learnt the final score"):
            make_agent(f"{path}:2?score=0.1", corso)
    for config in ([], 7, {"learner": "all"}):  # notes may say anything
        save_checkpoint(tiny_checkpoint(corso, notes={"config": config}), path)
        assert make_agent(f"{path}:2?score=0.1", corso).name == "agent:2?score=0.1"
