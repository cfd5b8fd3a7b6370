"""The engine by itself: options, symmetries, random numbers, compiling and caching."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludarium.envs import Option, Symmetries, make_game
from ludarium.envs.engine.draw import grid
from ludarium.envs.engine.options import check_options, ply_cap
from ludarium.envs.engine.rule import (
    random_below,
    random_bits,
    seed_rng,
    seed_stream,
    state_dtype,
    table_record,
)
from tests.processes import python

# Options.

SIZE = Option("size", 9, range(5, 20, 2), "points on a side")
START = Option("start", "empty", ("empty", "corners", 3), "how the board is at first")
CAP = Option("max_plies", None, ply_cap, "draw after so many plies", "a positive integer or None")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (SIZE, 5),
        (SIZE, 19),
        (SIZE, np.int32(7)),
        (START, "corners"),
        (START, np.str_("empty")),
        (START, 3),
        (CAP, None),
        (CAP, 1),
        (CAP, 1_000_000),
    ],
)
def test_accepted_values_come_back_as_plain_python(option: Option, value: object) -> None:
    checked = option.check(value)
    assert checked == value
    assert type(checked) in (int, str, type(None))
    json.dumps(checked)


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        (SIZE, 6, "an integer from 5 to 19 in steps of 2"),
        (SIZE, 21, "an integer from 5 to 19 in steps of 2"),
        (SIZE, 9.0, "an integer from 5 to 19 in steps of 2"),
        (SIZE, True, "an integer from 5 to 19 in steps of 2"),
        (SIZE, "9", "an integer from 5 to 19 in steps of 2"),
        (START, "full", "one of 'empty', 'corners', 3"),
        (START, 3.0, "one of 'empty', 'corners', 3"),
        (START, np.array([3]), "one of 'empty', 'corners', 3"),
        (CAP, 0, "a positive integer or None"),
        (CAP, 1.5, "a positive integer or None"),
        (CAP, True, "a positive integer or None"),
        (CAP, "many", "a positive integer or None"),
    ],
)
def test_a_refused_value_is_told_with_the_accepted_ones(
    option: Option, value: object, accepted: str
) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        option.check(value)
    assert f"option '{option.name}' is {value!r}; accepted: {accepted}" in str(refusal.value)


def test_a_default_that_is_not_accepted_is_refused() -> None:
    with pytest.raises(
        ValueError, match="the default of option 'size' is 21; accepted: an integer from 5 to 19"
    ):
        Option("size", 21, range(5, 20, 2), "points on a side")
    with pytest.raises(ValueError, match="is 5; accepted: nothing, since range"):
        Option("size", 5, range(5, 5), "points on a side")
    assert type(Option("size", np.int64(5), range(5, 20, 2), "points on a side").default) is int


def test_options_of_a_game_are_completed_with_defaults() -> None:
    checked = check_options("made-up", (SIZE, START), {"start": "corners"})
    assert checked == {"size": 9, "start": "corners"}
    with pytest.raises(
        ValueError,
        match=r"made-up has no option 'sise' \(given 5\); did you mean size\?; options: si",
    ):
        check_options("made-up", (SIZE, START), {"sise": 5})
    with pytest.raises(ValueError, match="options: none"):
        check_options("made-up", (), {"size": 5})


# Symmetries and boards.


@pytest.mark.parametrize(
    ("actions", "observation", "reason"),
    [
        ([[0, 1, 2], [0, 1, 1]], [[0, 1], [1, 0]], "must be a permutation"),
        ([[0, 1, 2], [2, 1, 0]], [[0, 1], [1, 2]], "must be a permutation"),
        ([[2, 1, 0], [0, 1, 2]], [[0, 1], [1, 0]], "row 0 the identity"),
        ([[0, 1, 2], [2, 1, 0]], [[1, 0], [0, 1]], "row 0 the identity"),
        ([[0, 1, 2], [2, 1, 0]], [[0, 1]], "the same number"),
    ],
)
def test_symmetries_must_be_permutations_with_the_identity_first(
    actions: list, observation: list, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Symmetries(np.array(actions), np.array(observation))


def test_cells_are_named_by_file_and_rank() -> None:
    assert [grid.cell_name(cell, 3) for cell in range(6)] == ["a1", "b1", "c1", "a2", "b2", "c2"]
    for cell in range(20 * 12):
        assert grid.read_cell(grid.cell_name(cell, 12), 12, 20) == cell
    for text in ("", "a", "1a", "a0", "a01", "aa1", "m1", "a21", "a1 ", "a\u0661"):
        with pytest.raises(ValueError, match="is malformed"):
            grid.read_cell(text, 12, 20)


def test_neighbours_share_an_edge() -> None:
    width, height = 5, 3
    neighbours = grid.orthogonal_neighbours(width, height)
    cells = [divmod(cell, width) for cell in range(width * height)]
    for cell, near in enumerate(neighbours):
        rank, file = cells[cell]
        others = {
            other
            for other, (other_rank, other_file) in enumerate(cells)
            if abs(rank - other_rank) + abs(file - other_file) == 1
        }
        assert set(near.tolist()) - {cell} == others
        assert len(near) == 4


def test_tables_keep_type_and_shape() -> None:
    tables = table_record(near=np.arange(6, dtype=np.int8).reshape(2, 3), count=7)
    assert tables[0].near.dtype == np.int8
    assert tables[0].near.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tables[0].count == 7


# Random numbers.


@pytest.mark.parametrize("name", ["size", "shape", "T", "copy"])
def test_fields_that_plain_python_would_misread_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"a field cannot be called '{name}'"):
        table_record(**{name: 3})
    with pytest.raises(ValueError, match=f"a field cannot be called '{name}'"):
        state_dtype((name, np.int8))


def test_random_numbers_are_the_same_in_plain_python() -> None:
    plain = getattr(random_bits, "py_func", random_bits)
    one, other = seed_rng(1)[0], seed_rng(1)[0]
    assert [random_bits(one) for _ in range(1000)] == [plain(other) for _ in range(1000)]
    assert (one == other).all()


def test_random_numbers_are_those_of_the_published_generator() -> None:
    """xoroshiro64*, told here with the 32-bit words of its authors."""

    def rotated(word: int, by: int) -> int:
        return (word << by | word >> (32 - by)) & 0xFFFFFFFF

    s0, s1 = 1, 2
    rng = np.array([1, 2], np.int64)
    for _ in range(100):
        assert random_bits(rng) == s0 * 0x9E3779BB % 2**32
        s1 ^= s0
        s0, s1 = rotated(s0, 26) ^ s1 ^ (s1 << 9) % 2**32, rotated(s1, 13)
        assert rng.tolist() == [s0, s1]


def test_random_numbers_spread_evenly_below_their_bound() -> None:
    rng = seed_rng(0)[0]
    counts = np.bincount([random_below(rng, 7) for _ in range(14000)])
    assert len(counts) == 7
    assert (abs(counts - 2000) < 5 * np.sqrt(2000)).all()


def test_seeds_give_independent_and_repeatable_streams() -> None:
    streams = seed_rng(5, 1000)
    assert (streams == seed_rng(5, 1000)).all()
    assert len(np.unique(streams, axis=0)) == 1000
    assert (streams != seed_rng(6, 1000)).any()
    assert (streams >= 0).all()
    assert (streams < 2**32).all()


@pytest.mark.parametrize("seed", [0, 1234567, 2**53 - 1])
def test_compiled_code_seeds_as_python_does(seed: int) -> None:
    rng = np.zeros(2, np.int64)
    seed_stream(rng, seed)
    assert rng.tolist() == seed_rng(seed)[0].tolist()


def test_plain_python_seeds_without_a_warning() -> None:
    code = (
        "import numpy as np\n"
        "from ludarium.envs.engine.rule import seed_rng, seed_stream\n"
        "rng = np.zeros(2, np.int64)\n"
        "seed_stream(rng, 2**53 - 1)\n"
        "assert rng.tolist() == seed_rng(2**53 - 1)[0].tolist()\n"
    )
    given = {"LUDARIUM_CODE": "plain", "PYTHONWARNINGS": "error::RuntimeWarning"}
    python(code, environment=given, check=True)


def test_seeds_go_through_the_published_generator() -> None:
    """SplitMix64, by the first numbers that its authors' code gives for this seed."""
    low, high = seed_rng(1234567, 3).T.tolist()
    numbers = [one + (other << 32) for one, other in zip(low, high, strict=True)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_any_seed_of_numpy_is_one() -> None:
    assert len({tuple(seed_rng(seed)[0]) for seed in (2**64 - 1, 2**64, 2**128 - 1)}) == 3
    sequence = np.random.SeedSequence(5)
    assert (seed_rng(sequence) == seed_rng(np.random.SeedSequence(5))).all()
    with pytest.raises(ValueError, match="non-negative"):
        seed_rng(-1)


def test_choose_takes_the_legal_action_that_the_random_bits_say() -> None:
    choose = make_game("corso").kernels.choose
    random = np.random.default_rng(0)
    for size in (1, 2, 7, 8, 9, 16, 25, 64, 81, 361):
        for density in (0.02, 0.5, 1):
            mask = (random.random(size) < density).astype(np.int8)
            mask[random.integers(size)] = 1
            legal = np.flatnonzero(mask)
            for bits in (0, 2**31, 2**32 - 1, *random.integers(2**32, size=40)):
                assert choose(mask, int(bits)) == legal[int(bits) * len(legal) >> 32]


# Compiling.


@pytest.mark.slow
def test_code_cached_by_several_processes_is_linked_to_its_own_parts(tmp_path: Path) -> None:
    """Records of the same rules, of different sizes, each compiled in a process of its own."""
    code = (
        "import numpy as np\n"
        "from ludarium.envs import make_game\n"
        "from ludarium.envs.engine.rule import seed_rng\n"
        "for size in {sizes}:\n"
        "    game, counts = make_game('corso', size=size), np.zeros(5, np.int64)\n"
        "    plies = game.kernels.random_games(game.tables, game.new_states(1), seed_rng(1)[0],\n"
        "        game.num_actions, 200, counts)\n"
        "    print(size, plies, counts)\n"
    )
    given = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    *apart, together = (
        python(code.format(sizes=sizes), environment=given, check=True)
        for sizes in ([6], [8], [6, 8])
    )
    assert "compiling" not in together.stderr
    assert together.stdout == "".join(each.stdout for each in apart)


def test_no_kernel_is_compiled_twice_for_one_option_set() -> None:
    """A stray dtype or memory layout would cost every user seconds."""
    code = (
        "import json, pickle, numpy as np\n"
        "from ludarium.envs import make, make_raw, from_record\n"
        "from ludarium.envs.engine.position import Position\n"
        "for maker in (make, make_raw):\n"
        "    env = maker('corso')\n"
        "    env.reset(seed=1)\n"
        "    for action in (0, np.int64(1), np.int8(2), np.array(3)):\n"
        "        env.last(); env.observe('player_0'); env.observe('player_1')\n"
        "        env.step(action)\n"
        "    for each in (env.clone(), pickle.loads(pickle.dumps(env)), \n"
        "                 from_record(env.to_record())):\n"
        "        each.step(each.text_to_action('e5')); each.last(); each.state()\n"
        "position = env.position.copy()\n"
        "position = Position.of_state(position.game, position.state)\n"
        "position.play(int(position.legal_actions[0]))\n"
        "position.play(position.legal_actions[-1])\n"
        "position.observation(np.int64(1)); position.score; position.perft(2)\n"
        "kernels = vars(position.game.kernels)\n"
        "print(json.dumps({name: len(each.signatures) for name, each in kernels.items()}))"
    )
    signatures = json.loads(python(code, environment={"NUMBA_DISABLE_JIT": "0"}).stdout)
    used = {name: count for name, count in signatures.items() if count}
    assert {"play", "observe", "legal_actions", "score", "perft"} <= set(used)
    assert set(used.values()) == {1}


def test_games_do_not_share_compiled_code() -> None:
    """Kernels of one template are told apart on disk by name, sources included."""
    kernels = vars(make_game("corso").kernels)
    names = {getattr(kernel, "py_func", kernel).__qualname__ for kernel in kernels.values()}
    assert len(names) == len(kernels)
    assert all(name.startswith("ludarium_envs_corso_rules_") for name in names)
