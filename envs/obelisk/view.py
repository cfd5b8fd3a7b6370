"""What people see of a position of Obelisk.

The slots of the picture, in the order in which they are drawn, for T types of blocks and L levels:

    BAND                what the band in the middle shows: the building zone, or landing places
    BLACK_LEFT          nothing, or 1 + the black blocks that are left
    ZONE, ZONE_MARK     [2] the blocks of the building zone, 1 + type; the last action
    TILE                [8] orientations of the block to be placed, 1 + block
    LANDING, REACHED    [72] what is below the block at a placement, and the height that it reaches
    PILE                the blocks in the pile
    STANDING            [2] whether a tower is over the top, or flat
    HAND, HAND_MARK     [2] the block that each player has to place, 1 + type; the last action
    HIGHEST, HEIGHTS    [2, 9] columns from above: 1 + colour of the highest cube; the height, and
                        L + 1 more where it is written in light letters
    CUBES               [2, 9 L, 2] the cubes, each with its edges, the nearest last

and then, see `_after_cubes`: [2] the parts in front of the towers; [T] whether any block of a
type is left; [T] how many.

View tables: ``filled`` [T+1, 72, 9], the cubes of a placement over each column: bit ``z`` is the
cube at height ``z``; ``rank`` [L, 9], the place of a cube among those of its tower in the order of
drawing; ``colour`` [T+1], the number of a block's colour, and ``is_dark`` [colours]; ``step``
[6, 3], from a cube to its neighbour beyond each side, and ``edge`` [9, 2], the sides that meet
in an edge: first edges with two visible sides, then those with one, the visible side first;
``turned`` and ``flipped`` [T+1, 8], the pose of a block after a turn and after a flip.
"""

from ..engine.position_text import FINE, OWN, note, plies_of, say
from ..engine.rule import ONGOING, TRUNCATED, rule
from ..engine.views import ROTATE
from .geometry import COLUMNS, HEIGHT, ORIENTATIONS, PLACEMENTS, SIDE
from .rules import (
    BLACK_ACTIVE,
    BLACK_PASSIVE,
    CHOOSE_FIRST,
    CHOOSE_SECOND,
    DECLINE,
    LEVELS,
    NO_BLOCK,
    PICK,
    PICK_FIRST,
    PLACE,
    PLACE_ACTIVE,
    PLACE_PASSIVE,
    end_game,
    enter,
    init,
    is_flat,
    resting_height,
)

BAND = 0
BLACK_LEFT = 1
ZONE = 2
ZONE_MARK = ZONE + 2
TILE = ZONE_MARK + 2
LANDING = TILE + ORIENTATIONS
REACHED = LANDING + PLACEMENTS
PILE = REACHED + PLACEMENTS
STANDING = PILE + 1
HAND = STANDING + 2
HAND_MARK = HAND + 2
HIGHEST = HAND_MARK + 2
HEIGHTS = HIGHEST + 2 * COLUMNS
CUBES = HEIGHTS + 2 * COLUMNS

#: Fields of a position's text, and its faults.
USED, IN_ZONE, HANDS, POINTS, BLACKS_LEFT, OFFERED, PLIES = range(7)
TOO_HIGH, TOO_MANY_USED, WRONG_BLACK, WRONG_PHASE, WRONG_USED, WRONG_LEVELS = range(OWN, OWN + 6)
MUST_END, WRONG_OFFER, WRONG_POINTS, WRONG_WORTH, WRONG_ACTIVE = range(OWN + 6, OWN + 11)
NEEDS_NO_PLIES = OWN + 11
PLIES_OF_A_TURN = 7  # two chosen, one picked, two placed, two answers to flats
_SURE_PLIES_OF_A_TURN = 5  # the same without answers to flats

# Choices of ``LANDING`` where a block can be placed: 1 + the holes, or a mark for over the top.
MOST_HOLES = 4  # more holes look the same
OVER_THE_TOP = MOST_HOLES + 2

# Choices of ``STANDING``.
OVER, FLAT = 1, 2

# The slots of a cube: its sides (nothing, a piece of rod, then each colour in shades, which its
# blocks on a tower take in turn), then its edges (a bit for each drawn edge, and as many for the
# newest block's).
ROD = 1
FIRST_COLOUR = 2
SHADES = 3
EDGES = 9
CUBE_SLOTS = 2
INNER_EDGES = 3  # edges between two visible sides


@rule
def show(tables, view, before, state, action, shown):
    """Write every slot by the position alone; the action only decides what is marked."""
    for slot in range(len(shown)):
        shown[slot] = 0
    kind = action - len(state.pile)
    _show_pile(view, state, shown)
    _show_hands(state, kind, shown)
    _build_towers(tables, view, state, shown)
    if (state.outcome == ONGOING) & (state.phase >= PLACE_ACTIVE):
        _show_landing_places(tables, view, state, shown)
    else:
        _show_zone(state, action, shown)
    newest = int(state.logged) if (kind >= PLACE) & (kind < DECLINE) else 0
    _draw_outlines(view, shown, newest)
    _paint(view, state, shown)


@rule
def word(tables, state, action):
    """Name a picked block by its type; these words follow the action names."""
    types = len(state.pile)
    picked = action - types - PICK_FIRST
    if (picked >= 0) & (picked < PLACE) and state.zone[picked] != NO_BLOCK:
        return len(state.open) + int(state.zone[picked])
    return action


@rule
def task(tables, state):
    """The number of the phase."""
    return int(state.phase)


@rule
def reason(tables, state, action):
    """The number of the phase, because only the actions of the phase are legal."""
    return int(state.phase)


@rule
def role(tables, state, player):
    """Active, passive or neither, each for the left and for the right tower."""
    if state.outcome != ONGOING:
        return 4 + player
    return 2 * int(state.active != player) + player


@rule
def next_pose(tables, view, state, pose, way):
    """The orientation of the block to be placed, or of a black one, after a turn or a flip."""
    block = len(state.pile) if state.phase >= BLACK_ACTIVE else int(state.hand[state.mover])
    if block == NO_BLOCK:
        return int(pose)
    if way == ROTATE:
        return int(view.turned[block, pose])
    return int(view.flipped[block, pose])


@rule
def _show_pile(view, state, shown):
    shown[PILE] = state.pile_blocks
    types = len(state.pile)
    for block in range(types):
        shown[_after_cubes(view) + 2 + block] = int(state.pile[block] > 0)
        shown[_after_cubes(view) + 2 + types + block] = state.pile[block]


@rule
def _after_cubes(view):
    """The slot of the parts in front of the towers."""
    return CUBES + 2 * COLUMNS * len(view.rank) * CUBE_SLOTS


@rule
def _show_hands(state, kind, shown):
    """Show the block that each player has to place, and the state of each tower."""
    is_pick = (kind >= PICK_FIRST) & (kind < PLACE)
    for player in range(2):
        held = int(state.hand[player])
        if state.over[player]:
            shown[STANDING + player] = OVER
        elif is_flat(state, player):
            shown[STANDING + player] = FLAT
        shown[HAND + player] = held - NO_BLOCK
        shown[HAND_MARK + player] = int(
            is_pick & (held != NO_BLOCK) & (state.active != player),
        )


@rule
def _show_zone(state, action, shown):
    """Show the chosen blocks, and how many black ones are left."""
    shown[BLACK_LEFT] = 1 + int(state.black_left)
    chosen = 0
    for place in range(2):
        shown[ZONE + place] = int(state.zone[place]) - NO_BLOCK
        chosen += int(state.zone[place] != NO_BLOCK)
    if (chosen > 0) & (action >= 0) & (action < len(state.pile)):
        shown[ZONE_MARK + chosen - 1] = 1


@rule
def _show_landing_places(tables, view, state, shown):
    """Show how the mover's block, or a black one, would rest wherever it can be put."""
    owner = int(state.mover)
    block = int(state.hand[owner])
    if state.phase >= BLACK_ACTIVE:
        owner = 1 - owner
        block = len(state.pile)
    shown[BAND] = 1 + owner
    heights = state.heights[owner]
    for placement in range(PLACEMENTS):
        rest = resting_height(tables, heights, block, placement)
        reached = 0
        holes = 0
        for column in range(COLUMNS):
            if view.filled[block, placement, column]:
                reached = max(reached, rest + int(tables.top[block, placement, column]))
                underside = rest + int(tables.underside[block, placement, column])
                holes += underside - int(heights[column])
        if reached > 0:
            is_over = reached > HEIGHT
            shown[TILE + placement // COLUMNS] = 1 + block
            shown[LANDING + placement] = OVER_THE_TOP if is_over else 1 + min(holes, MOST_HOLES)
            shown[REACHED + placement] = reached


@rule
def _build_towers(tables, view, state, shown):
    """Put the blocks of the log on towers that were empty, in order.

    The first slot of each cube then has the number of its block in the log, from 1 on, or 0; the
    columns have the heights that these blocks reach and the colours of their highest cubes.
    """
    for number in range(int(state.logged)):
        owner = int(state.log[number]) % 2
        placement = int(state.log[number]) // 2 % PLACEMENTS
        block = int(state.log[number]) // 2 // PLACEMENTS
        heights = shown[HEIGHTS + COLUMNS * owner : HEIGHTS + COLUMNS * (owner + 1)]
        rest = resting_height(tables, heights, block, placement)
        for column in range(COLUMNS):
            filled = int(view.filled[block, placement, column])
            for z in range(HEIGHT):
                if filled >> z & 1:
                    shown[_cube(view, owner, rest + z, column)] = number + 1
                    heights[column] = rest + z + 1
                    shown[HIGHEST + COLUMNS * owner + column] = 1 + int(view.colour[block])


@rule
def _cube(view, owner, level, column):
    """The first slot of a cube."""
    rank = COLUMNS * len(view.rank) * owner + int(view.rank[level, column])
    return CUBES + CUBE_SLOTS * rank


@rule
def _draw_outlines(view, shown, newest):
    """Draw the edges where a visible side of a block ends, using the numbers of the blocks."""
    for owner in range(2):
        for level in range(len(view.rank)):
            for column in range(COLUMNS):
                first = _cube(view, owner, level, column)
                own = shown[first]
                edges = 0
                if own > 0:
                    for edge in range(EDGES):
                        one = _beyond(view, shown, owner, level, column, view.edge[edge, 0])
                        other = _beyond(view, shown, owner, level, column, view.edge[edge, 1])
                        ends = (one == 0) & (other != own)
                        if edge < INNER_EDGES:
                            ends |= (other == 0) & (one != own)
                        edges |= int(ends) << edge
                shown[first + 1] = edges << EDGES if own == newest else edges


@rule
def _beyond(view, shown, owner, level, column, side):
    """The number of the block beyond a side of a cube, 0 if there is none."""
    x = column % SIDE + int(view.step[side, 0])
    y = column // SIDE + int(view.step[side, 1])
    z = level + int(view.step[side, 2])
    inside = (min(x, y, z) >= 0) & (max(x, y) < SIDE) & (z < len(view.rank))
    if inside:
        return int(shown[_cube(view, owner, z, SIDE * y + x)])
    return 0


@rule
def _paint(view, state, shown):
    """Turn numbers of blocks into colours, and write heights in a legible colour."""
    for owner in range(2):
        for column in range(COLUMNS):
            for level in range(len(view.rank)):
                cube = _cube(view, owner, level, column)
                number = int(shown[cube]) - 1
                if number >= 0:
                    colour = int(view.colour[int(state.log[number]) // 2 // PLACEMENTS])
                    shade = 0
                    for earlier in range(number):
                        entry = int(state.log[earlier])
                        is_like = view.colour[entry // 2 // PLACEMENTS] == colour
                        shade += int((entry % 2 == owner) & is_like)
                    shown[cube] = FIRST_COLOUR + SHADES * colour + shade % SHADES
                elif level < HEIGHT:
                    shown[cube] = ROD
            column_slot = COLUMNS * owner + column
            colour = int(shown[HIGHEST + column_slot]) - 1
            light = len(view.rank) + 1 if colour >= 0 and view.is_dark[colour] else 0
            # The log of a position that was read from a text lacks blocks, and so their heights.
            shown[HEIGHTS + column_slot] = int(state.heights[owner, column]) + light


@rule
def write_text(tables, state, said):
    """Write the heights of the towers, where each block is, and what else counts."""
    types = len(state.pile)
    for owner in range(2):
        for column in range(COLUMNS):
            said.board[COLUMNS * owner + column] = state.heights[owner, column]
    placed = 0
    for block in range(types):
        used = int(tables.stock[block]) - int(state.pile[block])
        for place in range(2):
            used -= int(state.zone[place] == block) + int(state.hand[place] == block)
        if used > 0:
            say(said, USED, block)
            said.times[USED, said.counts[USED] - 1] = used
            placed += used
    for place in range(2):
        if state.zone[place] != NO_BLOCK:
            say(said, IN_ZONE, int(state.zone[place]))
    for turn in range(2):
        block = int(state.hand[state.mover ^ turn])
        if block != NO_BLOCK:
            say(said, HANDS, block)
    if state.points[0] != 0 or state.points[1] != 0:
        for player in range(2):
            say(said, POINTS, int(state.points[player]))
    blacks = len(tables.black_level) - int(state.black_left)
    if blacks > 0:
        say(said, BLACKS_LEFT, int(state.black_left))
    has_ended = state.outcome != ONGOING and state.outcome != TRUNCATED
    phase = PLACE_PASSIVE if has_ended else int(state.phase)
    if phase >= BLACK_ACTIVE:
        say(said, OFFERED, phase - BLACK_ACTIVE)
    least = _least_plies(tables, phase, placed, blacks, int(state.active))
    if _counts_plies(tables) and state.ply != least:
        say(said, PLIES, int(state.ply))


@rule
def read_text(tables, state, said):
    """Write the position with these towers and blocks."""
    init(tables, state, None)
    mover, highest, levels = int(said.mover), 0, 0
    for owner in range(2):
        over = 0
        for column in range(COLUMNS):
            height = int(said.board[COLUMNS * owner + column])
            highest = max(highest, height)
            levels += height
            over |= int(height > HEIGHT)
            state.heights[owner, column] = height
            for level in range(min(height, LEVELS)):
                state.levels[owner, level * COLUMNS + column] = 1
        state.over[owner] = over
    if highest > HEIGHT + tables.tallest:
        note(said, highest, HEIGHT + int(tables.tallest), 0)
        return TOO_HIGH
    supply = len(tables.black_level)
    black_left = int(said.values[BLACKS_LEFT, 0]) if said.counts[BLACKS_LEFT] > 0 else supply
    if black_left < 0 or black_left > supply:
        note(said, black_left, supply, 0)
        return WRONG_BLACK
    state.black_left = black_left
    placed, cubes = 0, supply - black_left
    worth = (supply - black_left) * int(tables.value[len(state.pile)])
    for field in range(USED, HANDS + 1):
        for number in range(said.counts[field]):
            block, times = int(said.values[field, number]), int(said.times[field, number])
            if times > state.pile[block]:
                note(said, block, int(tables.stock[block]), 0)
                return TOO_MANY_USED
            state.pile[block] -= times
            state.pile_blocks -= times
            for left in range(int(state.pile[block]), int(state.pile[block]) + times):
                state.slots[int(tables.first_slot[block]) + left] = 0
            if field == USED:
                placed += times
                cubes += times * int(tables.cubes[block])
                worth += times * int(tables.value[block])
    in_zone, in_hands = int(said.counts[IN_ZONE]), int(said.counts[HANDS])
    offered = 1 + int(said.values[OFFERED, 0]) if said.counts[OFFERED] > 0 else 0
    is_over = (state.over[0] | state.over[1]) != 0 or state.pile_blocks < 2
    is_over = is_over and in_zone + in_hands + offered == 0
    phase = _phase_of(in_zone, in_hands, offered, is_over)
    if phase < 0:
        return WRONG_PHASE
    is_passive = phase in (PICK, PLACE_PASSIVE, BLACK_PASSIVE)
    active = mover ^ int(is_passive)
    state.active = active
    fault = _fault_of_blocks(state, said, phase, placed, levels, cubes, is_over)
    if fault == FINE:
        fault = _read_points(tables, state, said, worth)
    turns = placed // 2 - int(phase >= BLACK_ACTIVE)
    if fault == FINE and not tables.hourglass and not is_over and active != turns % 2:
        note(said, turns % 2, turns + 1, 1 - mover)
        return WRONG_ACTIVE
    if fault != FINE:
        return fault
    plies = _least_plies(tables, phase, placed, supply - black_left, active)
    if _counts_plies(tables):
        plies = plies_of(said, PLIES, plies, int(tables.max_plies), 1)
    elif said.counts[PLIES] > 0:
        return NEEDS_NO_PLIES
    if plies < 0:
        return -plies
    state.ply = plies
    for number in range(in_hands):
        state.hand[mover ^ number] = said.values[HANDS, number]
    for place in range(in_zone):
        state.zone[place] = said.values[IN_ZONE, place]
    if is_over:
        state.phase = phase
        state.mover = mover
        end_game(tables, state)
        return FINE
    enter(tables, state, phase)
    if plies >= tables.max_plies:
        state.outcome = TRUNCATED
    return FINE


@rule
def _phase_of(in_zone, in_hands, offered, is_over):
    """The phase, by the blocks in the building zone and in the players' hands, or -1."""
    if offered > 0:
        return BLACK_ACTIVE + offered - 1 if in_zone + in_hands == 0 else -1
    if in_zone > 0 and in_hands > 0:
        return -1
    if in_hands > 0:
        return PLACE_ACTIVE if in_hands == 2 else PLACE_PASSIVE
    if in_zone > 0:
        return PICK if in_zone == 2 else CHOOSE_SECOND
    return PLACE_PASSIVE if is_over else CHOOSE_FIRST


@rule
def _fault_of_blocks(state, said, phase, placed, levels, cubes, is_over):
    """Refuse blocks that cannot be where they are."""
    active = int(state.active)
    passive = 1 - active
    if placed % 2 != int(phase == PLACE_PASSIVE and not is_over):
        note(said, placed, 0, 0)
        return WRONG_USED
    if levels < cubes or (levels > 0 and cubes == 0):
        note(said, levels, cubes, 0)
        return WRONG_LEVELS
    is_any_over = (state.over[0] | state.over[1]) != 0
    if not is_over and (state.over[passive] or (is_any_over and phase != PLACE_PASSIVE)):
        return MUST_END
    if phase >= BLACK_ACTIVE:
        owner = passive if phase == BLACK_PASSIVE else active
        lowest, higher = int(state.heights[owner, 0]), 0
        for column in range(COLUMNS):
            lowest = min(lowest, int(state.heights[owner, column]))
        for column in range(COLUMNS):
            higher += int(state.heights[owner, column]) - lowest
        # The other player may have put a black block there.
        is_even = higher == 0 or (higher == 1 and phase == BLACK_PASSIVE)
        if state.black_left == 0 or not is_even or lowest == 0:
            return WRONG_OFFER
    return FINE


@rule
def _read_points(tables, state, said, worth):
    """Read the points of both players, whose sum follows if no block is over the top."""
    most = int(tables.lead_offset)
    if said.counts[POINTS] == 1:
        note(said, most, 0, 0)
        return WRONG_POINTS
    first, second = 0, 0
    if said.counts[POINTS] > 0:
        first, second = int(said.values[POINTS, 0]), int(said.values[POINTS, 1])
    if max(abs(first), abs(second), abs(first - second)) > most:
        note(said, most, 0, 0)
        return WRONG_POINTS
    if state.over[0] == 0 and state.over[1] == 0 and first + second != worth:
        note(said, first, second, worth)
        return WRONG_WORTH
    state.points[0] = first
    state.points[1] = second
    return FINE


@rule
def _counts_plies(tables):
    """Whether a game can reach its ply cap."""
    longest = PLIES_OF_A_TURN * (int(tables.blocks) // 2)
    return tables.hourglass != 0 or tables.max_plies < longest


@rule
def _least_plies(tables, phase, placed, blacks, active):
    """The fewest plies that lead to a position with so many blocks and black ones on the towers.

    ``active`` is the active player; after each turn, a lost one too, the other player is.
    """
    turns = placed // 2
    if phase == PLACE_PASSIVE and placed % 2 == 0:  # the game is over
        return _SURE_PLIES_OF_A_TURN * turns + blacks
    since, begun = phase, turns
    if phase >= BLACK_ACTIVE:
        since, begun = 0, turns - 1
    lost = (active + begun) % 2 if tables.hourglass else 0
    return _SURE_PLIES_OF_A_TURN * turns + since + blacks + lost
