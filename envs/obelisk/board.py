"""Obelisk's sizes and tables, text notation, symmetries."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from ludarium.base.messages import quoted

from ..engine.draw.grid import cell_name, read_cell
from ..engine.draw.scene import Scene
from ..engine.game import Game, Symmetries, Terminal
from ..engine.options import Clock, Option, ply_cap
from ..engine.position import Position
from ..engine.position_text import PositionText, counted, listed, whole
from ..engine.rule import ONGOING, TRUNCATED, table_record
from ..engine.spec import Spec, Texts
from . import picture, rules, terminal, view
from .blocks import Catalogue, accept_blocks, catalogue
from .geometry import (
    COLUMNS,
    HEIGHT,
    PLACEMENTS,
    SIDE,
    column_images,
    cubes_above,
    lowest,
    mirror_images,
    moved,
    orientation_text,
    placements,
    profiles,
)
from .rules import (
    ACTIONS_AFTER_TYPES,
    BLACK,
    BLACK_ACTIVE,
    BLACK_PASSIVE,
    CHOOSE_FIRST,
    CHOOSE_SECOND,
    DECLINE,
    NO_BLOCK,
    PICK,
    PICK_FIRST,
    PLACE,
    PLACE_ACTIVE,
    PLACE_PASSIVE,
    TIMEOUT,
)

_HOURGLASS_CAP = 400
_PLIES_OF_A_TURN = 7  # two chosen, one picked, two placed, two answers to flats
_SURE_PLIES_OF_A_TURN = 5  # the same without answers to flats
_OFFERED = ("active", "passive")  # the players to whom a black block may be offered
# Task in each phase.
_TASKS = (
    *("choose the first block", "choose the second block", "pick a block"),
    *("place a block", "place a block"),
    *("place a black block or decline", "place a black block or decline"),
)
_PHASES = (
    *("choose first", "choose second", "pick", "place active", "place passive"),
    *("black active", "black passive"),
)
_SIMILAR = 6  # names that are offered instead of an unknown one
#: The events that `events` counts; the last only with the hourglass.
_EVENTS = (
    *("black block placed", "black block declined", "block over the top"),
    *("tower left flat", "identical pair offered", "game ended with the pile used up"),
    *("block placed", "turn lost by timeout"),
)
_PLACES_OF_BLOCKS = ("first", "second", "own hand", "other hand")
_HELP = (
    "write one of: choose ID, pick ID (with a block's id), place a1 r0 (column, quarter turns "
    "0 to 3, then f if flipped), black a1, decline, timeout"
)


class Obelisk(Game):
    """Obelisk (c. 2014): build a tower of polycubes, no higher than nine."""

    name = "obelisk"
    title = "Obelisk"
    summary = "share out blocks two by two and stack them tightly, no higher than nine"
    credit = "posted by its inventor, c. 2014"
    option_list = (
        Option(
            "scoring",
            "points",
            ("points", "topple"),
            "points decide, or a player who alone has a block over the top loses",
        ),
        Option(
            "hourglass",
            False,
            (False, True),
            "the active player may lose its turn by the action timeout",
        ),
        Option(
            "blocks",
            None,
            accept_blocks,
            "the catalogue of blocks (None: the default one)",
            "None, the path of a JSON file, or its content as a dict",
            takes_path=True,
        ),
        Option(
            "max_plies",
            None,
            ply_cap,
            f"plies to a draw (None: {_HOURGLASS_CAP} with the hourglass, else none is needed)",
            "None or a positive integer up to 1,000,000",
        ),
    )
    clock = Clock("hourglass", "hourglass", 60, "timeout", "choose two blocks")
    notation = "after pick, the block's id instead of first or second"
    terminal = Terminal(terminal.before_a_move, terminal.COMMANDS, terminal.answer)
    rules: ClassVar = rules

    def setup(self) -> Spec:
        self.catalogue = catalogue(self.options["blocks"])
        types, everything = self.catalogue.types, self.catalogue.everything
        turns = self.catalogue.pile_size // 2
        self.placements = [placements(block.cubes) for block in everything]
        max_score, max_plies = _largest_lead(self.catalogue), self._ply_cap(turns)
        action_names = [
            *(f"choose {block.id}" for block in types),
            *("pick first", "pick second"),
            *(_placement_text(place) for place in range(PLACEMENTS)),
            *(f"black {cell_name(column, SIDE)}" for column in range(COLUMNS)),
            *("decline", "timeout"),
        ]
        # Each block adds at least a cube, and none is put on a tower that is over the top.
        placed = min(2 * turns + self.catalogue.black.count, 2 * (COLUMNS * HEIGHT + 1))
        underside, top = profiles(self.placements)
        stock = np.array([block.count for block in types], np.int8)
        return Spec(
            state_dtype=rules.state_dtype(len(types), self.catalogue.pile_size, placed),
            tables=table_record(
                underside=underside,
                top=top,
                above=cubes_above([block.cubes for block in everything]),
                tallest=int(top.max()),
                value=np.array([block.value for block in everything], np.int8),
                stock=stock,
                first_slot=(stock.cumsum() - stock).astype(np.uint16),
                blocks=self.catalogue.pile_size,
                black_level=np.arange(self.catalogue.black.count, dtype=np.int8),
                open=self._masks(),
                lead_offset=max_score,
                topple=int(self.options["scoring"] == "topple"),
                max_plies=max_plies,
            ),
            action_names=action_names,
            observation_names=self._feature_names(max_score),
            max_plies=max_plies,
            max_score=max_score,
            words=Texts([*action_names, *(f"pick {block.id}" for block in types)], view.word),
            tasks=Texts(_TASKS, view.task),
            reasons=Texts([f"the player to move has to {task}" for task in _TASKS], view.reason),
            event_names=_EVENTS[: None if self.options["hourglass"] else -1],
            view_tables=picture.view_tables(self),
        )

    def _feature_names(self, max_score: int) -> list[str]:
        """The names of the features, in the order of `rules`."""
        levels = [
            f"column {cell_name(column, SIDE)} > {level}"
            for level in range(rules.LEVELS)
            for column in range(COLUMNS)
        ]
        types = self.catalogue.types
        return [
            *(f"{whose} {level}" for whose in ("own", "other") for level in levels),
            *("own tower flat", "other tower flat", "own tower over", "other tower over"),
            "is active",
            *(f"phase {phase}" for phase in _PHASES),
            *(f"lead > {points}" for points in range(-rules.LEAD_SHOWN, rules.LEAD_SHOWN)),
            *(f"black left > {count}" for count in range(self.catalogue.black.count)),
            *(f"pile {block.id} > {count}" for block in types for count in range(block.count)),
            *(f"{place} {block.id}" for place in _PLACES_OF_BLOCKS for block in types),
            *(f"lead digit {digit}" for digit in range((2 * max_score).bit_length())),
        ]

    def _ply_cap(self, turns: int) -> int:
        """The most plies of a game; without the hourglass, no more than 7 for each turn."""
        if self.options["hourglass"]:
            return self.options["max_plies"] or _HOURGLASS_CAP
        longest = _PLIES_OF_A_TURN * turns
        return min(self.options["max_plies"] or longest, longest)

    def _masks(self) -> np.ndarray:
        """The table ``open``: a row for placing each type, then the rows named in the rules."""
        types = len(self.catalogue.types)
        rows, actions = types + rules.OPEN_ROWS_AFTER_TYPES, types + ACTIONS_AFTER_TYPES
        masks = np.zeros((rows, actions), np.int8)
        for number in range(types):
            masks[number, [types + PLACE + place for place in self.placements[number]]] = 1
        masks[types + rules.OPEN_CHOOSE, types + TIMEOUT] = self.options["hourglass"]
        masks[types + rules.OPEN_PICK, types + PICK_FIRST : types + PLACE] = 1
        masks[types + rules.OPEN_PICK_IDENTICAL, types + PICK_FIRST] = 1
        masks[types + rules.OPEN_BLACK, types + BLACK : types + TIMEOUT] = 1
        return masks

    # Notation.

    def text_to_action(self, position: Position, text: str) -> int:
        types = len(self.catalogue.types)
        if text == "decline":
            return types + DECLINE
        if text == "timeout":
            return types + TIMEOUT
        verb, _, rest = text.partition(" ")
        if verb == "choose":
            return self._chosen_type(rest, text)
        if verb == "pick":
            return self._pick_named(position, rest, text)
        if verb == "black":
            return types + BLACK + read_cell(rest, SIDE, SIDE)
        match = re.fullmatch(r"place (\S+) r([0-3])(f?)", text)
        if not match:
            raise ValueError(f"{quoted(text)} is malformed: {_HELP}")
        orientation = int(match[2]) + 4 * len(match[3])
        column = read_cell(match[1], SIDE, SIDE)
        return types + PLACE + COLUMNS * orientation + column

    def type_named(self, name: str) -> int:
        """The number of a type of block.

        Raises:
            ValueError: there is none of that name; the message has the most similar ones.
        """
        ids = [block.id for block in self.catalogue.types]
        if name not in ids:
            similar = get_close_matches(name[:40], ids, n=_SIMILAR, cutoff=0)
            raise ValueError(
                f"no block is called {quoted(name)}; similar are {', '.join(similar)} "
                f"({len(ids)} types in all)"
            )
        return ids.index(name)

    def _chosen_type(self, name: str, text: str) -> int:
        try:
            return self.type_named(name)
        except ValueError as error:
            raise ValueError(f"{quoted(text)} is malformed: {error}") from None

    def _pick_named(self, position: Position, name: str, text: str) -> int:
        state = position.state
        if state.phase != PICK:
            if name not in ("first", "second"):
                self._chosen_type(name, text)
            raise ValueError(f"{quoted(text)} is not legal now: {self.task(position)}")
        zone = [self.catalogue.types[block].id for block in state.zone]
        if name not in zone:
            self._chosen_type(name, text)
            raise ValueError(
                f"{quoted(text)} is not legal now: the blocks to pick from are {' and '.join(zone)}"
            )
        return len(self.catalogue.types) + PICK_FIRST + zone.index(name)

    def why_illegal(self, position: Position, action: int) -> str:
        state = position.state
        types = self.catalogue.types
        phase, kind = int(state.phase), action - len(types)
        if kind < 0 and phase in (CHOOSE_FIRST, CHOOSE_SECOND):
            return f"no {types[action].id} is left in the pile"
        if PICK_FIRST <= kind < PLACE and phase == PICK:
            return "both blocks are the same; pick the first"
        if PLACE <= kind < BLACK and phase in (PLACE_ACTIVE, PLACE_PASSIVE):
            return self._why_not_there(int(state.hand[state.mover]), kind - PLACE)
        if kind == TIMEOUT and phase in (CHOOSE_FIRST, CHOOSE_SECOND):
            return "the game is played without the hourglass; make it with hourglass=True"
        return self.task(position)

    def _why_not_there(self, number: int, place: int) -> str:
        """The reason why a block of this number has no such placement."""
        block = self.catalogue.everything[number]
        orientation, column = divmod(place, COLUMNS)
        same = lowest(block.cubes, orientation)
        if COLUMNS * same + column not in self.placements[number]:
            return f"{block.id} would stand out of the tower's columns there"
        instead = _placement_text(COLUMNS * same + column)
        return f"{block.id} looks the same in a lower orientation; write '{instead}'"

    def task(self, position: Position) -> str:
        """What the game waits for, in one sentence."""
        return f"player_{position.mover} has to {position.to_do()}"

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        kinds = actions - len(self.catalogue.types)
        black = (kinds >= BLACK) & (kinds < DECLINE)
        places = (kinds >= PLACE) & (kinds < BLACK)
        offers = (after["phase"] == PICK) & (after["zone"][:, 0] == after["zone"][:, 1])
        heights = after["heights"][np.arange(len(after)), before["mover"]]
        flat = places & (heights == heights[:, :1]).all(axis=1)
        over = after["over"].sum(1) - before["over"].sum(1)
        used_up = (after["outcome"] != ONGOING) & (after["over"].sum(1) == 0)
        used_up &= after["pile_blocks"] < 2
        counts = [
            *(black, kinds == DECLINE, over),
            *(flat, offers & (before["phase"] != PICK), used_up, places, kinds == TIMEOUT),
        ]
        return np.stack(counts[: len(self.event_names)], axis=1, dtype=np.int32)

    # Text of a position.

    def write_position(self, state: np.record) -> tuple[str, dict[str, Any]]:
        types, black = self.catalogue.types, self.catalogue.black
        own, other = state.hand[state.mover], state.hand[1 - state.mover]
        left, zone, hands = (
            [block for block in blocks if block != NO_BLOCK]
            for blocks in (np.repeat(np.arange(len(types)), state.pile), state.zone, (own, other))
        )
        taken = np.bincount([*left, *zone, *hands], minlength=len(types))
        on_towers = {block.id: block.count - n for block, n in zip(types, taken, strict=True)}
        has_ended = state.outcome not in (ONGOING, TRUNCATED)
        is_offered = state.phase >= BLACK_ACTIVE and not has_ended
        least = self._least_plies(
            PLACE_PASSIVE if has_ended else int(state.phase),
            sum(on_towers.values()),
            black.count - int(state.black_left),
            int(state.active),
        )
        return "|".join(map(_heights_text, state.heights)), {
            "used": listed(on_towers),
            "zone": ",".join(types[block].id for block in zone),
            "hands": ",".join(types[block].id for block in hands),
            "points": ",".join(map(str, state.points)) if state.points.any() else "",
            "black": "" if state.black_left == black.count else int(state.black_left),
            "offered": _OFFERED[state.phase - BLACK_ACTIVE] if is_offered else "",
            "plies": int(state.ply) if self._counts_plies and state.ply != least else "",
        }

    def read_position(self, text: PositionText, state: np.record) -> None:
        rules, tables, types = self.rules, self.tables[0], self.catalogue.types
        heights = self._read_heights(text.board)
        numbers = {block.id: number for number, block in enumerate(types)}
        used = counted(text.words("used"))
        zone, hands = text.words("zone"), text.words("hands")
        supply = self.catalogue.black.count
        black_left = text.whole("black", supply, 0, supply)
        offered = text.choice("offered", _OFFERED)
        rules.init(tables, state, None)
        for name, count in [*used.items(), *((name, 1) for name in (*zone, *hands))]:
            number = self.type_named(name)
            if count > state.pile[number]:
                raise ValueError(f"the game has {types[number].count} {name}, and the text more")
            state.pile[number] -= count
        state.pile_blocks = left = int(state.pile.sum())
        state.black_left = black_left
        for number, first in enumerate(tables.first_slot):
            stock = types[number].count
            state.slots[first : first + stock] = np.arange(stock) < state.pile[number]
        state.heights[:] = heights
        state.levels[:] = (state.heights[:, None, :] > np.arange(rules.LEVELS)[:, None]).reshape(
            2, -1
        )
        state.over[:] = state.heights.max(axis=1) > HEIGHT
        placed, mover = sum(used.values()), text.mover
        is_over = not zone and not hands and not offered and (state.over.any() or left < 2)
        phase = _phase(len(zone), len(hands), offered, is_over)
        state.active = mover ^ (phase in (PICK, PLACE_PASSIVE, BLACK_PASSIVE))
        self._check_blocks(state, phase, used, is_over)
        self._read_points(text, state, used)
        if not self.options["hourglass"]:
            self._check_turn(state, phase, placed, mover, is_over)
        least = self._least_plies(phase, placed, supply - black_left, int(state.active))
        state.ply = text.plies(least, self.max_plies) if self._counts_plies else least
        for player, name in zip((mover, 1 - mover), hands, strict=False):
            state.hand[player] = numbers[name]
        for place, name in enumerate(zone):
            state.zone[place] = numbers[name]
        rules._enter(tables, state, phase)
        if is_over:
            state.mover = mover
            rules._end_game(tables, state)
        elif state.ply >= self.max_plies:
            state.outcome = TRUNCATED

    @property
    def _counts_plies(self) -> bool:
        """Whether a game can reach its ply cap."""
        turns = self.catalogue.pile_size // 2
        return self.options["hourglass"] or self.max_plies < _PLIES_OF_A_TURN * turns

    def _least_plies(self, phase: int, placed: int, blacks: int, active: int) -> int:
        """The fewest plies before a position, with so many blocks and black ones on the towers.

        Args: ``active`` is the active player; each turn, and each that is lost, makes it the other.
        """
        turns = placed // 2
        if phase == PLACE_PASSIVE and placed % 2 == 0:  # the game is over
            return _SURE_PLIES_OF_A_TURN * turns + blacks
        since, begun = (phase, turns) if phase < BLACK_ACTIVE else (0, turns - 1)
        lost = (active + begun) % 2 if self.options["hourglass"] else 0
        return _SURE_PLIES_OF_A_TURN * turns + since + blacks + lost

    def _read_heights(self, board: str) -> np.ndarray:
        """The heights of both towers' columns, int[2, 9]."""
        row = f"[0-9a-z]{{{SIDE}}}"
        tower = "/".join([row] * SIDE)
        if not re.fullmatch(rf"{tower}\|{tower}", board):
            raise ValueError(
                f"the towers are {quoted(board)}; write the heights of player_0's columns in rows "
                "from the back, | and player_1's, such as 000/012/234|000/000/111"
            )
        rows = [tower.split("/")[::-1] for tower in board.split("|")]
        heights = np.array([[int(c, 36) for c in "".join(tower)] for tower in rows])
        highest = HEIGHT + int(self.tables[0].tallest)
        if heights.max() > highest:
            raise ValueError(f"a column has {heights.max()} levels; blocks reach {highest} at most")
        return heights

    def _check_blocks(
        self, state: np.record, phase: int, used: dict[str, int], is_over: bool
    ) -> None:
        """Refuse blocks that cannot be where they are."""
        placed, passive = sum(used.values()), 1 - int(state.active)
        if placed % 2 != (phase == PLACE_PASSIVE and not is_over):
            raise ValueError(
                f"used has {placed} blocks; both players place one in a turn, so their number is "
                "even, or odd while hands has one"
            )
        types = self.catalogue.types
        volume = sum(used.get(block.id, 0) * len(block.cubes) for block in types)
        volume += self.catalogue.black.count - int(state.black_left)
        levels = int(state.heights.sum())
        if levels < volume or (levels and not volume):
            raise ValueError(
                f"the columns have {levels} levels, and the blocks of used and the black ones on "
                f"the towers {volume} cubes"
            )
        if not is_over and (state.over[passive] or (state.over.any() and phase != PLACE_PASSIVE)):
            raise ValueError(
                f"a column is higher than {HEIGHT}, which ends the game with the turn: write no "
                "zone, hands or offered, or the one block of hands that is still to be placed"
            )
        if phase >= BLACK_ACTIVE:
            tower = np.sort(state.heights[passive if phase == BLACK_PASSIVE else state.active])
            uneven = int(tower[-1] - tower[0])  # the other player may have put a black block there
            is_flat = uneven == 0 or (uneven == 1 == phase - BLACK_ACTIVE and tower[-2] == tower[0])
            if not state.black_left or not is_flat or not tower[0]:
                raise ValueError(
                    "a black block is offered while there is one, to a player whose tower is flat"
                )

    def _read_points(self, text: PositionText, state: np.record, used: dict[str, int]) -> None:
        """Read the points of both players, whose sum follows if no block is over the top."""
        words = text.words("points") or ["0", "0"]
        if len(words) != 2:
            raise ValueError("points are those of player_0, a comma, and those of player_1")
        points = [whole("points", word, -self.max_score, self.max_score) for word in words]
        if abs(points[0] - points[1]) > self.max_score:
            raise ValueError(f"nobody can lead by more than {self.max_score} points")
        black = self.catalogue.black
        worth = sum(used.get(block.id, 0) * block.value for block in self.catalogue.types)
        worth += black.value * (black.count - int(state.black_left))
        if not state.over.any() and sum(points) != worth:
            raise ValueError(
                f"points are {points[0]} and {points[1]}, and the blocks on the towers are worth "
                f"{worth} together"
            )
        state.points[:] = points

    def _check_turn(
        self, state: np.record, phase: int, placed: int, mover: int, is_over: bool
    ) -> None:
        """Refuse the wrong player to move; without the hourglass, turns alternate."""
        turns = placed // 2 - (phase >= BLACK_ACTIVE)
        if not is_over and state.active != turns % 2:
            raise ValueError(
                f"player_{turns % 2} is the active player in turn {turns + 1}, so that "
                f"player_{1 - mover} is to move"
            )

    # Text for people.

    def marks(self, position: Position, player: int) -> str:
        return ("left tower", "right tower")[player]

    def board_text(self, position: Position) -> str:
        state = position.state
        types = self.catalogue.types
        zone = [types[block].id for block in state.zone if block != NO_BLOCK]
        hands = [
            f"player_{player} holds {types[block].id}"
            for player, block in enumerate(state.hand)
            if block != NO_BLOCK
        ]
        return "\n".join(
            [
                *terminal.towers(state),
                *terminal.pile_lines(self, state),
                f"building zone: {', '.join(zone) or 'empty'}",
                *hands,
                position.standing(),
            ]
        )

    def action_spots(self) -> np.ndarray:
        return picture.action_spots(self)

    def scene(self) -> Scene:
        return picture.scene(self)

    # Symmetries.

    def symmetries(self) -> Symmetries:
        """The towers' quarter turns, each on its own, and the mirror images of both at once.

        Row: ``16 * mirrored + 4 * quarters of one's own tower + quarters of the other``. The block
        determines how placements are numbered: kind 0 is for positions without a block to
        place, kind ``t + 1`` for those where the mover places one of type ``t``.
        """
        types = self.catalogue.types
        mirror = mirror_images(
            [block.cubes for block in types], [(block.value, block.count) for block in types]
        )
        turns = [(own, other) for own in range(4) for other in range(4)]
        rows = [(False, *turn) for turn in turns]
        if mirror is not None:
            rows += [(True, *turn) for turn in turns]
        same = list(range(len(types)))
        images = {False: same, True: mirror or same}
        kinds = range(len(same) + 1)
        actions = [
            [self._seen_actions(kind, images[m], m, own, other) for m, own, other in rows]
            for kind in kinds
        ]
        observation = [self._seen_features(images[m], m, own, other) for m, own, other in rows]
        return Symmetries(
            actions=np.array(actions, np.int32),
            observation=np.array(observation, np.int32),
            kind=self._symmetry_kind,
        )

    @staticmethod
    def _symmetry_kind(states: np.ndarray) -> np.ndarray:
        """The table of actions that applies in each position, int64[N]."""
        in_hand = states["hand"][np.arange(len(states)), states["mover"]].astype(np.int64)
        is_placing = (states["phase"] == PLACE_ACTIVE) | (states["phase"] == PLACE_PASSIVE)
        return np.where(is_placing, in_hand + 1, 0)

    def _seen_actions(
        self, kind: int, images: list[int], mirrored: bool, own: int, other: int
    ) -> np.ndarray:
        """One row of a symmetry's actions: for each action, the one whose image it is."""
        types = len(images)
        image = np.arange(self.num_actions)
        image[:types] = images
        image[types + BLACK : types + DECLINE] = types + BLACK + column_images(mirrored, other)
        if kind:
            block, image_block = kind - 1, images[kind - 1]
            number_of = {cubes: place for place, cubes in self.placements[image_block].items()}
            for place, cubes in self.placements[block].items():
                there = number_of[frozenset(moved(cube, own, mirrored) for cube in cubes)]
                image[types + PLACE + place] = types + PLACE + there
            # Numbers without a placement are mapped, in order, to those without one of the image.
            rest, image_rest = (
                [place for place in range(PLACEMENTS) if place not in self.placements[number]]
                for number in (block, image_block)
            )
            image[types + PLACE + np.array(rest)] = types + PLACE + np.array(image_rest)
        return np.argsort(image)

    def _seen_features(self, images: list[int], mirrored: bool, own: int, other: int) -> np.ndarray:
        """One row of a symmetry's observation: for each feature, the one whose image it is."""
        image = np.arange(self.observation_shape[0])
        for tower, turns in ((rules.OWN_TOWER, own), (rules.OTHER_TOWER, other)):
            for level in range(rules.LEVELS):
                first = tower + COLUMNS * level
                image[first : first + COLUMNS] = first + column_images(mirrored, turns)
        counts = [block.count for block in self.catalogue.types]
        slots = list(accumulate(counts, initial=0))  # where each type's features begin
        part = rules.PARTS_OF_CATALOGUE + self.catalogue.black.count
        for number, count in enumerate(counts):
            there = slots[images[number]]
            image[part + slots[number] :][:count] = part + there + np.arange(count)
        part += slots[-1]
        for first in range(part, part + 4 * len(counts), len(counts)):
            image[first : first + len(counts)] = first + np.array(images)
        return np.argsort(image)


def _heights_text(heights: np.ndarray) -> str:
    """The heights of a tower's columns, a digit or letter each."""
    digits = "".join(np.base_repr(height, 36).lower() for height in heights.tolist())
    return "/".join(digits[SIDE * row :][:SIDE] for row in reversed(range(SIDE)))


def _phase(in_zone: int, in_hands: int, offered: int, is_over: bool) -> int:
    """The phase of a turn, by the blocks in the building zone and in the players' hands."""
    phases = {
        (0, 0): PLACE_PASSIVE if is_over else CHOOSE_FIRST,
        (1, 0): CHOOSE_SECOND,
        (2, 0): PICK,
        (0, 2): PLACE_ACTIVE,
        (0, 1): PLACE_PASSIVE,
    }
    if (in_zone, in_hands) not in phases or (offered and in_zone + in_hands):
        raise ValueError(
            "zone has up to two blocks to pick from; or hands has one or both that are picked, the "
            "mover's first; or a black block is offered"
        )
    return BLACK_ACTIVE + offered - 1 if offered else phases[in_zone, in_hands]


def _placement_text(place: int) -> str:
    """The text of a placement, such as ``place b2 r3f``."""
    orientation, column = divmod(place, COLUMNS)
    return f"place {cell_name(column, SIDE)} {orientation_text(orientation)}"


def _largest_lead(blocks: Catalogue) -> int:
    """A bound on how many points one player can be ahead at any time.

    For each number of turns: the most valuable blocks on one tower, the least valuable on the
    other, the last of these perhaps over the top; and every black block widens the lead.
    """
    values = sorted(value for b in blocks.types for value in [b.value] * b.count)
    least = list(accumulate(values, initial=0))
    most = list(accumulate(reversed(values), initial=0))
    penalty = max(len(block.cubes) for block in blocks.types)
    lead = max(
        max(most[turn], most[turn - 1]) - min(least[turn], least[turn - 1] - penalty)
        for turn in range(1, len(values) // 2 + 1)
    )
    return lead + blocks.black.count * max(abs(blocks.black.value), 1)
