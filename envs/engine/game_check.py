"""`check_game`: plays random games of a new game and reports its errors."""

from __future__ import annotations

import dis
import sys
import traceback
from pathlib import Path
from types import FunctionType
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ludarium.base.console import say
from ludarium.base.messages import quoted, shortened
from ludarium.base.progress import Progress
from ludarium.machine.marks import mark_of, plain

from . import kernels as kernel_templates
from . import views as view_templates
from .check import RefusedError, check_hooks
from .compile import reason_for_plain, recipe_of
from .game import Game, Symmetries
from .guarded import guarded
from .hooks import HOOKS
from .position import Position
from .rule import ONGOING, TRUNCATED, declared_fields, seed_rng
from .views import show_planes, write_planes

_HOOKS = {hook.name: hook for hook in HOOKS}
_NOTHING = 777.0  # marks entries of an observation that nothing has written
_UNWRITTEN = -777  # marks slots that the view has not written
_IN_FULL = 3  # games whose views and texts are checked too, and that compiled code replays
_MOST_SYMMETRIES = 32  # tested symmetries, with the identity; each other one in a game or more
_IMAGES = 16  # games to test, if there are fewer symmetries; a wrong one may fit one by chance
#: Folders whose lines in a traceback are not the game's.
_FOREIGN = tuple(Path(file).parent for file in (np.__file__, __file__))


def check_game(
    game: Game, games: int = 50, seed: int = 0, progress: Progress | None = None
) -> list[str]:
    """Find errors of a game by playing it at random; returns an empty list if there are none.

    Rules run as plain Python, where an index out of bounds, or below 0, is an error rather than a
    wrong answer. At the end compiled code replays a few of the games; where there is none, a line
    on standard error says so. More checks run whenever a game is made, see `check_spec` and
    `check_hooks`.

    Args:
        game: the rules with their options; check each option set that changes a size.
        games: how many to play; 50 take seconds if there are few actions.
        seed: seed of the random actions.
        progress: counts the games and symmetries; default: progress on standard error.

    Returns:
        One sentence for each kind of fault, about the first case of it.
    """
    if progress is None:
        from ludarium.base.progress_bar import progress_bar  # rich is slow to import

        with progress_bar() as shown:
            return check_game(game, games, seed, shown)
    check = _Check(game)
    progress.begin(f"check of {game.name}: games", games)
    check.check_scene()
    if not check.faults:
        check.check_code()
    check.check_starts()
    check.check_spots()
    for number in range(games):
        if check.faults:
            break
        check.play(np.random.SeedSequence([seed, number]), in_full=number < _IN_FULL)
        progress.advance()
    if not check.faults:
        check.check_movers()
        check.check_symmetries(games, seed, progress)
    if not check.faults:
        again = min(games, _IN_FULL)
        progress.begin(f"check of {game.name}: compiled games", again)
        for number in range(again):
            check.compare_with_compiled(np.random.SeedSequence([seed, number]))
            progress.advance()
        reason = None if check.faults else reason_for_plain(kernel_templates, game)
        if reason is not None:
            say(
                f"ludarium: {game.name}: compiled code was not compared with plain Python: {reason}"
            )
    return list(check.faults.values())


class _FaultError(Exception):
    """A rule function raised an error: the game cannot go on."""


class _Check:
    """A game with its rules in plain Python, and the first fault of each kind found so far."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.faults: dict[str, str] = {}
        self._table = game.tables[0]
        self._choices = np.zeros(0, np.int64)  # how many choices each slot of the scene has
        self._where = ""
        self._scratch = declared_fields(game.spec.state_dtype, "scratch")
        self._movers: set[int] = set()  # players to move in positions after the start

    def _expect(self, holds: Any, kind: str, message: str) -> None:
        if not holds:
            self.faults.setdefault(kind, f"{message}{self._where}")

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the rules, or of the view.

        Raises:
            _FaultError: it raised an error, which is noted.
        """
        function: Any = _HOOKS[name].of(self.game)
        try:
            with np.errstate(all="raise"):
                return plain(function)(*map(guarded, (self._table, *arguments)))
        except Exception as error:  # a stranger's rules may raise anything
            room = f"; the scene has {len(self._choices)} slots" if name == "show" else ""
            self._expect(False, name, f"{name} fails: {self._message_of(error)}{room}")
            raise _FaultError from None

    def _lead(self, states: np.ndarray) -> int:
        """Player 0's lead."""
        if self.game.has_points:
            first, second = self._points(states)
            return first - second
        return int(self._call("score", states[0])) if hasattr(self.game.rules, "score") else 0

    def _points(self, states: np.ndarray) -> tuple[int, int]:
        """The points of both players."""
        points = self._call("points", states[0])
        if not (isinstance(points, tuple) and len(points) == 2):
            told = f"points gives {points!r}; it must be two numbers, of player_0 and of player_1"
            self._expect(False, "points", told)
            raise _FaultError
        return int(points[0]), int(points[1])

    def _message_of(self, error: Exception) -> str:
        """An error message, with the last line of the game's own code in its traceback."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [
            frame
            for frame in frames
            if not any(Path(frame.filename).is_relative_to(folder) for folder in _FOREIGN)
        ]
        last = (own or frames)[-1]
        place = f"line {last.lineno} of {Path(last.filename).name}, in {last.name}"
        return f"{shortened(f'{type(error).__name__}: {error}')} ({place})"

    # Parts of a game.

    def _start(self, rng: np.ndarray, filling: int = 0) -> np.ndarray:
        """A new position [1], in a record that was full of ``filling``."""
        states = self.game.new_states(1)
        states.view(np.uint8)[:] = filling
        self._call("init", states[0], rng.copy())
        return states

    def _mask(self, states: np.ndarray) -> np.ndarray:
        if states["outcome"][0] != ONGOING:
            return np.zeros(self.game.num_actions, np.int8)
        legal = [
            bool(self._call("is_legal", states[0], action))
            for action in range(self.game.num_actions)
        ]
        return np.array(legal, np.int8)

    def _observation(self, states: np.ndarray, player: int) -> np.ndarray:
        planes = np.full(self.game.planes_shape, _NOTHING, np.float32)
        self._call("observe", states[0], player, planes)
        return planes.reshape(self.game.observation_shape)

    def _planes_where(self, is_so: np.ndarray) -> str:
        """The planes, or features, in which some entry of ``is_so`` is true; empty for none."""
        names = self.game.observation_names
        found = (
            repr(name)
            for name, plane in zip(names, is_so.reshape(len(names), -1), strict=True)
            if plane.any()
        )
        return shortened(", ".join(found))

    # Checks.

    def check_code(self) -> None:
        """Check that rules and view call rules only, read constants only, and never use ``/``."""
        for fault in recipe_of(view_templates, self.game).ingredients().faults:
            self._expect(False, "global", fault)
        homes = {plain(hook.of(self.game)).__module__ for hook in HOOKS if hook.own(self.game)}
        modules = [self.game.rules, *(sys.modules[name] for name in sorted(homes))]
        for module in {module.__name__: module for module in modules}.values():
            for value in vars(module).values():
                if isinstance(plain(value), FunctionType) and (
                    value is not plain(value) or mark_of(value)
                ):
                    self._check_function(plain(value))

    def _check_function(self, function: FunctionType) -> None:
        file, home = Path(function.__code__.co_filename).name, function.__globals__
        for step in dis.get_instructions(function):
            line = step.positions.lineno if step.positions else None
            where = f"(line {line} of {file}, in {function.__name__})"
            called = home.get(step.argval) if step.opname == "LOAD_GLOBAL" else None
            self._expect(
                not isinstance(called, FunctionType) or mark_of(called),
                "helper",
                f"{step.argval} is called, and is not a rule: decorate it with @rule {where}",
            )
            self._expect(
                step.opname != "BINARY_OP" or step.argrepr not in ("/", "/="),
                "division",
                f"/ makes fractions, which other machines may round in other ways: write //, or "
                f"take fractions from a float32 table {where}",
            )

    def check_starts(self) -> None:
        """Check that ``init`` writes everything, and draws only if the game says so."""
        try:
            starts = [self._start(seed_rng(0)[0], filling) for filling in (0, 0x55)]
            fields = [n for n in self.game.state_dtype.names or () if _differ(n, *starts)]
            self._expect(
                not fields,
                "init",
                f"init does not write all of state.{', state.'.join(fields)}: what the record held "
                "before is left",
            )
            state = starts[0][0]
            self._expect(state.ply == 0, "init ply", f"init sets ply to {state.ply}, not to 0")
            self._expect(
                state.outcome == ONGOING, "init outcome", "init does not set outcome to ONGOING"
            )
            others = [self._start(seed_rng(number)[0]) for number in range(1, 9)]
            draws = any((other != starts[0]).any() for other in others)
            self._expect(
                not draws or self.game.random_start,
                "random_start",
                "starts differ by the seed, but random_start is False",
            )
        except _FaultError:
            pass

    def play(self, seed: np.random.SeedSequence, in_full: bool) -> None:
        """Play a random game, and check everything that holds in every position."""
        random = np.random.default_rng(seed)
        played: list[str] = []
        try:
            states = self._start(seed_rng(seed)[0])
            before, action = states, -1
            self._where = " (at the start)"
            while states["outcome"][0] == ONGOING and not self.faults:
                mask = self._look(states)
                if played:
                    self._movers.add(int(states["mover"][0]))
                if in_full and not self.faults:
                    self._look_at_view(before, action, states)
                if in_full and not self.faults:
                    self._read_texts(states, mask)
                if self.faults:
                    return
                action = int(random.choice(np.flatnonzero(mask)))
                played.append(self.game.action_names[action])
                self._where = f" (after ply {len(played)}: {' '.join(played[-6:])})"
                before = states.copy()
                self._step(states, action)
                self._count_events(before, action, states)
            self._look(states)
            if in_full:
                self._look_at_view(before, action, states)
            lead = abs(self._lead(states))
            most = self.game.max_score
            self._expect(
                not most or lead <= most, "score", f"a game ends {lead} ahead; max_score is {most}"
            )
        except _FaultError:
            pass

    def _look(self, states: np.ndarray) -> np.ndarray:
        """Check mask and observations, which may change nothing; return the mask."""
        before = states.copy()
        mask = self._mask(states)
        self._expect(
            mask.any() or states["outcome"][0] != ONGOING,
            "mask",
            "no action is legal, and the game is not over",
        )
        for player in (0, 1):
            seen = self._observation(states, player)
            missing = self._planes_where(seen == _NOTHING)
            self._expect(not missing, "unseen", f"observe leaves entries unwritten: {missing}")
            if missing:
                continue
            self._expect(
                ((seen >= 0) & (seen <= 1)).all(), "range", "observe writes more than 1 or below 0"
            )
            self._expect(
                not self.game.binary_observation or np.isin(seen, (0, 1)).all(),
                "binary",
                "observe writes fractions: set binary_observation=False in the Spec",
            )
        changed = [name for name in before.dtype.names or () if _differ(name, before, states)]
        self._expect(
            not changed, "looking", f"is_legal or observe changes state.{', state.'.join(changed)}"
        )
        return mask

    def _step(self, states: np.ndarray, action: int) -> None:
        ply, cap = int(states["ply"][0]), self.game.max_plies
        may_end = bool(self._call("may_end", states[0]))
        self._call("step", states[0], action)
        state = states[0]
        is_over = state.outcome != ONGOING
        self._expect(
            state.ply == ply + 1,
            "ply",
            f"step takes ply from {ply} to {state.ply}, not one further",
        )
        self._expect(state.mover in (0, 1), "mover", f"step sets mover to {state.mover}")
        self._expect(
            ONGOING <= state.outcome <= TRUNCATED,
            "outcome",
            f"step sets outcome to {state.outcome}",
        )
        self._expect(
            is_over or ply + 1 < cap, "max_plies", f"the game goes on, and max_plies is {cap}"
        )
        dirty = [f"state.{field}" for field in self._scratch if states[field].any()]
        self._expect(
            not dirty, "scratch", f"step leaves {', '.join(dirty)} other than zero: it is scratch"
        )
        self._expect(
            may_end or not is_over, "may_end", "the game ends where may_end said that it could not"
        )

    def _count_events(self, before: np.ndarray, action: int, after: np.ndarray) -> None:
        """Check that the events of a ply are one whole number for each name."""
        game = self.game
        try:
            counts = np.asarray(game.events(before, np.array([action]), after))
        except Exception as error:  # a stranger's game may raise anything
            self._expect(False, "events", f"events fails: {self._message_of(error)}")
            return
        is_whole = counts.shape == (1, len(game.event_names)) and counts.dtype.kind in "iu"
        self._expect(
            is_whole,
            "events",
            f"events gives {counts.dtype} of shape {counts.shape} for 1 ply; it must be whole "
            f"numbers [1, {len(game.event_names)}], one for each of event_names",
        )
        self._expect(not is_whole or (counts >= 0).all(), "events below 0", "events counts below 0")

    def _read_texts(self, states: np.ndarray, mask: np.ndarray) -> None:
        """Check that texts of legal actions read back, and that the board has a text and a picture.

        Some illegal actions must have a text and a reason.
        """
        game = self.game
        try:
            position = Position.of_state(game, states)
            for action in np.flatnonzero(mask).tolist():
                text = position.action_to_text(action)
                self._expect(
                    text == text.strip().lower(), "text", f"the text {text!r} is not in lower case"
                )
                read = position.text_to_action(text)
                self._expect(
                    read == action, "reading", f"{text!r} of action {action} is read as {read}"
                )
            for action in np.flatnonzero(mask == 0)[:5].tolist():
                position.action_to_text(action)
                game.why_illegal(position, action)
            board = position.board_text()
            told = f"board_text gives {quoted(board)}; it must be a text"
            self._expect(isinstance(board, str), "board_text", told)
            position.svg()
        except RefusedError:
            pass  # the games in plain Python say it better; if they do not, the compiled ones do
        except Exception as error:  # a stranger's game may raise anything
            self._expect(False, "texts", f"text or picture: {self._message_of(error)}")

    def check_movers(self) -> None:
        """Check that player_1 is to move after some ply of some game."""
        self._where = ""
        self._expect(
            self._movers != {0},
            "movers",
            "after every ply player_0 is to move again: let step write state.mover",
        )

    def check_spots(self) -> None:
        """Check that `action_spots`, if the game has them, are for all actions."""
        self._where = ""
        try:
            spots = self.game.action_spots()
            shape = () if spots is None else np.shape(spots)
        except Exception as error:  # a stranger's game may raise anything
            self._expect(False, "spots", f"action_spots: {self._message_of(error)}")
            return
        if spots is not None:
            expected = (self.game.num_actions, 2)
            message = f"action_spots has the shape {shape}, not {expected}"
            self._expect(shape == expected, "spots", message)

    def check_scene(self) -> None:
        """Check that the picture is made of texts, and that each slot has a shape."""
        self._where = ""
        try:
            scene = self.game.drawn_scene
            check_hooks(self.game, HOOKS)
            texts = [scene.note, *scene.ground, *(text for s in scene.slots for text in s.shapes)]
            texts += [text for role in scene.roles for text in (role.words, role.piece)]
            self._choices = np.array([slot.choices for slot in scene.slots], np.int64)
        except Exception as error:  # a stranger's game may raise anything
            self._expect(False, "scene", f"scene fails: {self._message_of(error)}")
            return
        others = [text for text in texts if not isinstance(text, str)]
        self._expect(not others, "scene", f"the scene has {others[:1]} where a text must be")
        empty = [number for number, slot in enumerate(scene.slots) if not slot.shapes]
        self._expect(
            not empty, "scene", f"slot {empty[:1]} of the scene has no shape; an empty text is one"
        )
        self._expect(scene.roles, "scene", "the scene has no roles")
        if others:
            return
        shapes = texts[1 + len(scene.ground) :]
        # The ground is checked as one text: a group may begin in one part and end in another.
        for text in ("".join(scene.ground), *shapes):
            fault = _fault_of_svg(text)
            self._expect(fault is None, "svg", f"the scene has {shortened(text)!r}: {fault}")

    def _look_at_view(self, before: np.ndarray, action: int, states: np.ndarray) -> None:
        """Check the view of a position against scene and texts; it may change nothing.

        Args:
            before, action: the position and action that led here; -1 at the start.
        """
        kept = before.copy(), states.copy()
        for number, since in ((-1, states), (action, states), (action, before)):
            self._look_at_slots(self._slots(since, number, states))
        game = self.game
        for number in range(game.num_actions):
            word = int(self._call("word", states[0], number))
            self._expect_number(word, f"word of action {number}", len(game.words), "words")
            if not self._call("is_legal", states[0], number):
                reason = int(self._call("reason", states[0], number))
                most = len(game.reasons) * game.num_actions
                self._expect_number(reason, f"reason of action {number}", most, "reasons")
        task, roles, _ = self._facts(states)
        self._expect_number(task, "task", len(game.tasks), "tasks")
        for player, role in enumerate(roles):
            kinds = len(game.drawn_scene.roles)
            self._expect_number(role, f"role of player {player}", kinds, "roles of the scene")
        same = (kept[0] == before).all() and (kept[1] == states).all()
        self._expect(same, "view", "the view changes the position; it may write only into shown")

    def _slots(self, before: np.ndarray, action: int, states: np.ndarray) -> np.ndarray:
        shown = np.full(len(self._choices), _UNWRITTEN, np.int32)
        if self.game.drawn_scene.show is None:
            planes_before, planes = (
                self._observation(each, 0).reshape(self.game.planes_shape)
                for each in (before, states)
            )
            write_planes(planes_before, shown)
            show_planes(self._table, planes, action, shown)
            return shown
        self._call("show", self.game.view_tables[0], before[0], states[0], action, shown)
        return shown

    def _facts(self, states: np.ndarray) -> tuple[int, list[int], tuple[int, int]]:
        """The mover's task, and the roles and the points of both."""
        task = int(self._call("task", states[0]))
        roles = [int(self._call("role", states[0], player)) for player in (0, 1)]
        return task, roles, self._points(states)

    def _look_at_slots(self, shown: np.ndarray) -> None:
        """Check that every slot of the picture shows one of its choices."""
        unwritten = np.flatnonzero(shown == _UNWRITTEN).tolist()
        if unwritten:
            number = f"{len(shown)} slots"
            message = f"show leaves slot {unwritten[0]} unwritten; it must write all {number}"
            self._expect(False, "slots", message)
            return
        for slot in np.flatnonzero((shown < 0) | (shown >= self._choices)).tolist():
            self._expect_number(
                int(shown[slot]), f"show for slot {slot}", int(self._choices[slot]), "choices"
            )

    def _expect_number(self, value: int, what: str, count: int, of_what: str) -> None:
        message = f"{what} is {value}, but there are {count} {of_what}: 0 to {count - 1}"
        self._expect(0 <= value < count, of_what, message)

    def check_symmetries(self, games: int, seed: int, progress: Progress) -> None:
        """Check that games that are images of each other go the same way."""
        self._where = ""
        try:
            self._try_symmetries(self.game.symmetries(), games, seed, progress)
        except _FaultError:
            return
        except Exception as error:  # a stranger's game may raise anything
            self._expect(False, "symmetries", f"symmetries: {self._message_of(error)}")

    def _try_symmetries(
        self, symmetries: Symmetries, games: int, seed: int, progress: Progress
    ) -> None:
        """Check the tables of the symmetries, and play games with their images.

        Raises:
            Exception: any that the tables or functions of a stranger's game lead to.
        """
        sizes = symmetries.actions.shape[-1], symmetries.observation.shape[-1]
        expected = self.game.num_actions, int(np.prod(self.game.observation_shape))
        self._expect(
            sizes == expected,
            "symmetries",
            f"symmetries are of {sizes[0]} actions and {sizes[1]} entries of the observation, not "
            f"of {expected[0]} and {expected[1]}",
        )
        if not self.faults:
            try:
                self._check_turn(symmetries)
            except Exception as error:  # a stranger's game may raise anything
                self._expect(False, "turn", f"canonical_turn: {self._message_of(error)}")
        if self.game.random_start or self.faults:
            return  # nothing says which start is the image of another
        tried = range(1, min(len(symmetries), _MOST_SYMMETRIES))
        progress.begin(f"check of {self.game.name}: symmetries", len(tried))
        for number in tried:
            for again in range(max(1, min(games, _IMAGES) // len(tried))):
                random = np.random.default_rng([seed, number, again])
                self._play_image(symmetries, number, random)
            progress.advance()

    def _check_turn(self, symmetries: Symmetries) -> None:
        """Check that the canonical turn commutes with every symmetry.

        For actions this is checked only if a symmetry permutes them alike in all positions.
        """
        turn = self.game.canonical_turn
        if turn is None:
            return
        planes, size = self.game.planes_shape
        entries = (np.arange(planes)[:, None] * size + turn.cells).ravel()
        pairs = [(entries, symmetries.observation)]
        if symmetries.kind is None:
            pairs.append((np.asarray(turn.actions), symmetries.actions))
        for turned, tables in pairs:
            odd = np.flatnonzero((tables[:, turned] != turned[tables]).any(1)).tolist()
            told = f"symmetry {odd[:1]} after the canonical turn is another than before it"
            self._expect(not odd, "turn", f"{told}; the order must not matter")

    def _play_image(self, symmetries: Symmetries, number: int, random: np.random.Generator) -> None:
        """Play a random game, and beside it its image under one symmetry.

        What player 0 sees in the image is what the symmetry's row makes of what they see in the
        game. For player 1 some row does the same, one for the whole game: the same row, unless that
        treats own and opposing features differently.
        """
        rng = seed_rng(0)[0]
        states, image = self._start(rng), self._start(rng)
        start = self._observation(states, 0).ravel()
        if (start[symmetries.observation[number]] != start).any():
            return  # the image of the start is another position
        rows = [np.array([number]), np.arange(len(symmetries))]  # that may hold, by player
        plies = 0
        remedy = "do both of its tables say the same, and do the rules have this symmetry?"
        while True:
            self._where = f" (symmetry {number}, after ply {plies})"
            mask, image_mask = self._mask(states), self._mask(image)
            mover = int(states["mover"][0])
            tables = symmetries.actions_of(np.repeat(states, len(rows[mover])), rows[mover])
            fits = (image_mask == mask[tables]).all(1)
            self._expect(
                fits.any() and image["outcome"] == states["outcome"],
                "symmetry",
                f"the image of a position has other legal actions: {remedy}",
            )
            if not self.faults:
                rows[mover] = rows[mover][fits]
            for player in (0, 1):
                seen = self._observation(states, player).ravel()[
                    symmetries.observation[rows[player]]
                ]
                differs = seen != self._observation(image, player).ravel()
                fits = ~differs.any(1)
                best = int(np.argmin(differs.sum(1)))
                planes = "" if fits.any() else self._planes_where(differs[best])
                message = (
                    f"the image of a position looks other than it should in {planes}: {remedy}"
                )
                self._expect(not planes, "image", message)
                if not planes:
                    rows[player] = rows[player][fits]
            if self.faults or not mask.any():
                return
            action = int(random.choice(np.flatnonzero(mask)))
            tables = symmetries.actions_of(np.repeat(states, len(rows[mover])), rows[mover])
            images = np.argsort(tables, axis=1)[:, action]
            self._call("step", states[0], action)
            seen = self._observation(states, 0).ravel()[symmetries.observation[number]]
            before = image
            for there in dict.fromkeys(images.tolist()):
                image = before.copy()
                self._call("step", image[0], there)
                if (self._observation(image, 0).ravel() == seen).all():
                    break  # of rows that still differ, those that lead here
            rows[mover] = rows[mover][images == there]
            plies += 1

    def compare_with_compiled(self, seed: np.random.SeedSequence) -> None:
        """Check that compiled code plays a game as plain Python does."""
        random = np.random.default_rng(seed)
        try:
            position, states = Position(self.game, seed), self._start(seed_rng(seed)[0])
            before, action = states, -1
            while not self.faults:
                self._where = f" (after ply {position.ply})"
                self._compare(states, position)
                self._compare_views(before, action, states)
                if position.is_over or self.faults:
                    return
                before, action = states.copy(), int(random.choice(position.legal_actions))
                position.play(action)
                self._call("step", states[0], action)
        except _FaultError:
            pass
        except ValueError as error:  # it cannot be compiled
            self._where = ""
            self._expect(False, "compiled", "; ".join(str(error).splitlines()))

    def _compare(self, states: np.ndarray, position: Position) -> None:
        remedy = "compute in int, and index within bounds"
        fields = [
            name for name in states.dtype.names or () if _differ(name, states, position.states)
        ]
        self._expect(
            not fields,
            "compiled",
            f"compiled code writes other values into state.{', state.'.join(fields)} than plain "
            f"Python: {remedy}",
        )
        self._expect(
            (position.mask == self._mask(states)).all(),
            "compiled",
            f"compiled code finds other actions legal than plain Python: {remedy}",
        )
        for player in (0, 1):
            self._expect(
                (position.observation(player) == self._observation(states, player)).all(),
                "compiled",
                f"compiled code observes other values than plain Python: {remedy}",
            )

    def _compare_views(self, before: np.ndarray, action: int, states: np.ndarray) -> None:
        game, position = self.game, Position.of_state(self.game, states)
        task, roles, points = self._facts(states)
        last = () if action < 0 else (action, Position.of_state(game, before))
        agrees = (
            (position.slots(*last) == self._slots(before, action, states)).all()
            and position.facts().tolist() == [task, *roles, *points]
            and all(
                position.word(number) == self._call("word", states[0], number)
                for number in range(game.num_actions)
            )
        )
        self._expect(
            agrees,
            "compiled",
            "compiled code shows other numbers than the view in plain Python: compute in int, "
            "and index within bounds",
        )


def _fault_of_svg(elements: str) -> str | None:
    """Why a text is not valid SVG elements; None if it is."""
    try:
        ElementTree.fromstring(f'<svg xmlns:xlink="x">{elements}</svg>')
    except ElementTree.ParseError as error:
        return f"this is not SVG ({error})"
    return None


def _differ(field: str, one: np.ndarray, other: np.ndarray) -> bool:
    return bool((one[field] != other[field]).any())
