"""Obelisk's sizes and tables, text notation, symmetries."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import ClassVar

import numpy as np

from ludarium.base.messages import quoted

from ..engine.draw.grid import cell_name, read_cell
from ..engine.draw.scene import Scene
from ..engine.game import Game, Symmetries, Terminal
from ..engine.options import Clock, Option, ply_cap
from ..engine.position import Position
from ..engine.position_text import Field, PositionFormat
from ..engine.rule import ONGOING, table_record
from ..engine.spec import Spec, Texts
from . import picture, rules, terminal, view
from .blocks import Catalogue, accept_blocks, catalogue_of
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
    profiles,
)
from .rules import (
    ACTIONS_AFTER_TYPES,
    BLACK,
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
_OFFERED = ("active", "passive")  # the players to whom a black block may be offered
#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "a column has {0} levels; blocks reach {1} at most",
    "the game has {1} {0:used}, and the text more",
    "black is {0}; accepted: a whole number from 0 to {1}, the black blocks that are left",
    "zone has up to two blocks to pick from; or hands has one or both that are picked, the mover's "
    "first; or a black block is offered",
    "used has {0} blocks; both players place one in a turn, so their number is even, or odd while "
    "hands has one",
    "the columns have {0} levels, and the blocks of used and the black ones on the towers {1} "
    "cubes",
    f"a column is higher than {HEIGHT}, which ends the game with the turn: write no zone, hands or "
    "offered, or the one block of hands that is still to be placed",
    "a black block is offered while there is one, to a player whose tower is flat",
    "points are those of player_0, a comma, and those of player_1; they are from -{0} to {0}, and "
    "so is their difference",
    "points are {0} and {1}, and the blocks on the towers are worth {2} together",
    "player_{0} is the active player in turn {1}, so that player_{2} is to move",
    "this game cannot reach its ply cap, so leave out plies",
)
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
        self.catalogue = catalogue_of(self.options["blocks"])
        types, everything = self.catalogue.types, self.catalogue.everything
        turns = self.catalogue.pile_size // 2
        self.placements = self.catalogue.placements
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
                hourglass=int(self.options["hourglass"]),
                cubes=np.array([len(block.cubes) for block in everything], np.int16),
            ),
            action_names=action_names,
            observation_names=self._feature_names(max_score),
            max_plies=max_plies,
            max_score=max_score,
            words=Texts([*action_names, *(f"pick {block.id}" for block in types)], view.word),
            tasks=Texts(_TASKS, view.task),
            reasons=Texts([f"the player to move has to {task}" for task in _TASKS], view.reason),
            event_names=_EVENTS[: None if self.options["hourglass"] else -1],
            view_tables=picture.view_tables(self.catalogue),
            position_format=self._position_format(),
        )

    def _position_format(self) -> PositionFormat:
        ids = [block.id for block in self.catalogue.types]
        wrong = "write ids of blocks, with commas between them"
        first = [SIDE * row for row in reversed(range(SIDE))]
        return PositionFormat(
            letters="0123456789abcdefghijklmnopqrstuvwxyz",
            rows=[(COLUMNS * owner + column, SIDE) for owner in (0, 1) for column in first],
            borders="//|//",
            wrong_board="write the heights of player_0's columns in rows from the back, | and "
            "player_1's, such as 000/012/234|000/000/111",
            fields=[
                Field("used", ids, len(ids), wrong, counts=True),
                Field("zone", ids, 2, wrong),
                Field("hands", ids, 2, wrong),
                Field("points", most=2, wrong="write those of player_0, a comma, and player_1's"),
                Field("black"),
                Field("offered", _OFFERED),
                Field("plies"),
            ],
            faults=_FAULTS,
            write=view.write_text,
            read=view.read_text,
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
        longest = view.PLIES_OF_A_TURN * turns
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

    def _chosen_type(self, name: str, text: str) -> int:
        try:
            return self.catalogue.type_named(name)
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
                *terminal.pile_lines(self.catalogue, state),
                f"building zone: {', '.join(zone) or 'empty'}",
                *hands,
                position.standing(),
            ]
        )

    def action_spots(self) -> np.ndarray:
        return picture.action_spots(self.catalogue)

    def scene(self) -> Scene:
        return picture.scene(self.catalogue)

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
