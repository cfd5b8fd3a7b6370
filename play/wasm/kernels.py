"""The exports of a module: one game in play, one search, and the network that it calls.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module, and
a compiled network takes the place of `ask`. Each kernel is an export of the same name. Its first
arguments, of ``game``, ``search`` and ``network``, are the module's memory, see `memory` and
`network`; the others, and what it returns, are whole numbers.
"""

from typing import Any

import numpy as np

from ludarium.envs.engine import kernels as engine
from ludarium.envs.engine import views
from ludarium.envs.engine.kernels import (
    observe_as,
    random_action,
    swap_entries,
    write_mask_and_planes,
)
from ludarium.envs.engine.position_text import FINE, parse, tell, write
from ludarium.envs.engine.rule import ONGOING, seed_stream
from ludarium.machine.marks import kernel, part
from ludarium.training.search import level, simulate
from ludarium.training.search.cache import CLOCK, EMPTIED
from ludarium.training.search.gumbel import write_schedule
from ludarium.training.search.tree import NO_NODE

rules: Any = None  # one game's rule module, filled in by `specialise`
NEEDS_VIEW = True

# Compiled along with the kernels below, which call them.
start_one = engine.start_one
play_one = engine.play
score_of = engine.score
play_random_games = engine.random_games
show_scene = views.show
tell_facts = views.facts
find_word = views.word
find_pose = views.next_pose
find_reason = views.reason
find_threats = views.threats
sum_owners = views.ownership
begin = simulate.begin
advance = simulate.advance
results = simulate.results
draw_search = level.draw_search
draw_action = level.draw_action


# The game.


@kernel
def game_seed(game, seed):
    """Seed the random numbers, as ``rule.seed_rng(seed)`` does; ``seed`` is below 2**53."""
    seed_stream(game.rngs[0], seed)


@kernel
def game_start(game):
    """Start a new game and write its mask and planes; return ``2 * outcome + mover``."""
    return start_one(game.tables, game.states, game.rngs, game.mask, game.planes, False)


@kernel
def game_set_up(game, places):
    """Replace the start by another diagram, see ``draw.scene.Diagram``, and write mask and planes.

    Bit i of ``places`` is 1 if place i has the first letter; numbers hold at most 53 places.
    """
    rules.set_up(game.tables[0], game.states[0], places)
    write_mask_and_planes(game.tables[0], game.states[0], game.mask, game.planes, False)


@kernel
def game_write_text(game):
    """Write the position's text into ``said``; return its length, 0 in a game without texts."""
    form, said = game.text_tables[0], game.said[0]
    if not form.reads:
        return 0
    for field in range(len(said.counts)):
        said.counts[field] = 0
    said.mover = game.states[0].mover
    rules.write_text(game.tables[0], game.states[0], said)
    write(form, said)
    return int(said.length)


@kernel
def game_read_text(game):
    """Begin at the position whose text is in ``said``, and write mask and planes.

    Returns:
        ``2 * outcome + mover``; or -1 if it is no position of the game: then ``said.message`` says
        why, and position, mask and planes stay.
    """
    form, said = game.text_tables[0], game.said[0]
    fault = parse(form, said)
    if fault == FINE:
        fault = rules.read_text(game.tables[0], game.scratch[0], said)
    if fault != FINE:
        tell(form, said, fault)
        return -1
    state = game.states[0]
    game.states[0] = game.scratch[0]
    write_mask_and_planes(game.tables[0], state, game.mask, game.planes, False)
    return 2 * int(state.outcome) + int(state.mover)


@kernel
def game_play(game, action):
    """Play an action and write the next mask and planes; return ``2 * outcome + mover``.

    Returns -1 if the action is not legal; then nothing is written.
    """
    return play_one(game.tables, game.states, action, game.mask, game.planes, False)


@kernel
def game_show(game):
    """Write mask and planes of the position for its mover."""
    write_mask_and_planes(game.tables[0], game.states[0], game.mask, game.planes, False)


@kernel
def game_observe(game, player):
    """Write what ``player`` sees into the planes."""
    rules.observe(game.tables[0], game.states[0], player, game.planes)


@kernel
def game_score(game):
    """Player 0's lead."""
    return score_of(game.tables, game.states)


@kernel
def game_random_action(game):
    """A legal action drawn uniformly, or -1 if the game is over."""
    state = game.states[0]
    if state.outcome != ONGOING:
        return -1
    return random_action(game.tables[0], state, game.rngs[0], game.mask.shape[0])


@kernel
def game_random_games(game, games):
    """Play ``games`` random games from the start; return the plies, write ``counts``.

    They overwrite the position, and leave mask and planes: restore it and call `game_show`.
    """
    for outcome in range(len(game.counts)):
        game.counts[outcome] = 0
    return play_random_games(
        game.tables, game.states, game.rngs[0], game.mask.shape[0], games, game.counts
    )


@kernel
def game_view(game, action):
    """Write the picture's slots and the facts that people are told of the position.

    ``action`` led to it from the position in ``game.before``; -1 if there is none.
    """
    since = game.states if action < 0 else game.before
    states, seen = game.states, game.seen
    show_scene(game.tables, game.view_tables, since, states, action, seen, game.shown)
    tell_facts(game.tables, game.states, game.facts)


@kernel
def game_word(game, action):
    """Number of the text of an action among `Spec.words`, which the scene's JSON has too."""
    return find_word(game.tables, game.states, action)


@kernel
def game_reason(game, action):
    """The number that tells why an action is not legal, see `hooks.HOOKS`."""
    return find_reason(game.tables, game.states, action)


@kernel
def game_next_pose(game, pose, way):
    """The pose of the mover's piece in hand after a turn (0) or a flip (1)."""
    return find_pose(game.tables, game.view_tables, game.states, pose, way)


@kernel
def game_threats(game):
    """Write what each player could do at once into ``threat_actions`` and ``threat_cells``.

    Returns whether the player who is not to move was asked too.
    """
    return find_threats(
        game.tables, game.states, game.scratch, game.threat_actions, game.threat_cells
    )


@kernel
def game_ownership(game, seed, playouts):
    """Write into ``owner_sums`` the sums of each cell's owners at the ends of random games.

    ``playouts`` games go on from the present position; ``seed`` as `seed_stream` takes it.
    """
    seed_stream(game.owner_rngs[0], seed)
    sum_owners(
        *(game.tables, game.states, game.scratch, game.owner_rngs[0]),
        *(game.mask.shape[0], playouts, game.owner_sums),
    )


# The search.


@kernel
def search_seed(game, search, seed):
    """Seed the root noise and what PUCT draws, as ``seed`` of a ``BatchSearch`` of one position."""
    seed_stream(search.rngs[0], seed)


@part
def begin_search(game, search, canonical):
    """Begin a search from the game's position; see `search_begin`."""
    tree, settings = search.tree, search.settings[0]
    room = len(tree.nodes[0]) - 1
    rows = len(tree.considered_visits)
    if settings.simulations < 1 or settings.simulations > room:
        return -1
    if settings.max_considered < 1 or settings.max_considered >= rows:
        return -1
    if game.states[0].outcome != ONGOING:
        return -1
    tree.states[0, 0] = game.states[0]
    begin(game.tables, tree, search.cache, search.planes, canonical != 0, 0, 1)
    legal = tree.nodes[0, 0].end - tree.nodes[0, 0].first
    considered = min(settings.max_considered, legal)
    write_schedule(considered, settings.simulations, tree.considered_visits[considered])
    return 1


@kernel
def search_begin(game, search, canonical):
    """Begin a search from the game's position, with the settings in memory.

    The planes of the search then hold its mover's observation; answer them and call
    `search_advance`. If ``settings.noise`` is 0, Gumbel uses ``roots.noise`` as it is.

    Args:
        canonical: 1 for networks, which see the canonical frame and number actions in it; 0 shows
            the board's own.

    Returns:
        1, or -1 if the settings do not fit the memory, or the game is over.
    """
    return begin_search(game, search, canonical)


@kernel
def search_advance(game, search):
    """Take the network's answer, ``evaluation``; search until the next is needed.

    Returns:
        1 if the search waits for the network again, 0 if it is done.
    """
    return advance(
        game.tables,
        search.tree,
        search.cache,
        search.settings,
        search.rngs,
        search.evaluation,
        None,
        search.planes,
        0,
        1,
        True,
        0,
    )


@part
def ask(net, planes, evaluation, n):
    """Stands for a compiled network; arguments and result are as in `models.kernels.answer`.

    But ``net`` is the kernels' argument ``network``.
    """
    return False


@kernel
def network_evaluate(game, search, network):
    """Write the network's answer to the game's position into ``evaluation``.

    The logits are in the order of the board's own numbers. A search that waits for an answer must
    not go on afterwards: its planes are overwritten.

    Returns:
        1, or 0 if a number of the answer is not finite.
    """
    table, state = game.tables[0], game.states[0]
    mover = int(state.mover)
    observe_as(table, state, mover, search.planes[0], True)
    is_finite = ask(network, search.planes, search.evaluation, 0)
    if rules.is_turned(table, state, mover):
        swap_entries(search.evaluation.logits[0], table.turned_actions)
    return int(is_finite)


@kernel
def search_run(game, search, network, most):
    """Continue a search, which asks the network at most ``most`` times.

    Returns:
        How often it asked: less than ``most`` if it is done, else call again; -1 if a number of an
        answer is not finite.
    """
    asked = 0
    while asked < most and search.tree.roots[0].waiting >= 0:
        if not ask(network, search.planes, search.evaluation, 0):
            return -1
        asked += 1
        advance(
            *(game.tables, search.tree, search.cache, search.settings, search.rngs),
            *(search.evaluation, None, search.planes, 0, 1, True, 0),
        )
    return asked


@part
def read_results(game, search):
    """See `search_results`."""
    root, rng = search.tree.roots[0], search.rngs[0]
    waits = root.waiting >= 0
    first, second = rng[0], rng[1]
    for action in range(search.visits.shape[1]):
        search.visits[0, action] = 0
        search.action_values[0, action] = np.nan
        search.priors[action] = 0
        search.noise[action] = root.noise[action]
    node, edges = search.tree.nodes[0, 0], search.tree.edges[0]
    for edge in range(node.first, node.end):
        search.priors[edges[edge].action] = edges[edge].prior
        search.pruned[edge - node.first] = edges[edge].pruned
    results(
        search.tree,
        search.settings,
        search.rngs,
        search.best_action,
        search.root_value,
        search.visits,
        search.action_values,
        0,
        1,
    )
    if waits:
        rng[0] = first
        rng[1] = second
        for action in range(len(search.noise)):
            root.noise[action] = search.noise[action]
        for edge in range(node.first, node.end):
            edges[edge].pruned = search.pruned[edge - node.first]
    return search.best_action[0]


@kernel
def search_results(game, search):
    """Write the root's policy, priors, visits, action values and value; return the action to play.

    The network must have answered for the root. A search that waits for the network is only read,
    and can continue afterwards.
    """
    return read_results(game, search)


@kernel
def search_variation(game, search):
    """Write the principal variation into ``line``, and return its length.

    It follows the most visited actions from the root on; of equals the first one counts.
    """
    nodes, edges = search.tree.nodes[0], search.tree.edges[0]
    length = 0
    number = 0
    while length < len(search.line):
        best = NO_NODE
        for edge in range(nodes[number].first, nodes[number].end):
            child = edges[edge].child
            if child != NO_NODE and (best == NO_NODE or nodes[child].visits > nodes[best].visits):
                best = child
                search.line[length] = edges[edge].action
        if best == NO_NODE:
            break
        number = best
        length += 1
    return length


@kernel
def search_forget(game, search):
    """Forget the network's answers, for example after a change of the network."""
    search.cache.counts[EMPTIED] = search.cache.counts[CLOCK]


# A level of strength.


@kernel
def level_begin(game, search, seed, canonical):
    """Begin the search of a level, whose parameters are in memory, from the game's position.

    This writes the settings and the noise of that search; continue it as after `search_begin`, and
    end with `level_choose`.

    Args:
        seed: a whole number below 2**53, for all that the level draws in this position.
        canonical: as for `search_begin`.

    Returns:
        1, or -1 if this many simulations do not fit, or the game is over; then nothing is
        written.
    """
    params = search.params[0]
    if not 1 <= params.simulations < len(search.tree.nodes[0]) or game.states[0].outcome != ONGOING:
        return -1
    seed_stream(search.rngs[0], seed)
    search.settings[0] = search.level_settings[0]
    settings = search.settings[0]
    settings.simulations = int(params.simulations)
    settings.solver = draw_search(params, search.rngs[0], search.tree.roots[0].noise)
    return begin_search(game, search, canonical)


@kernel
def level_choose(game, search):
    """Draw and return the action that the level plays, from the search's results so far."""
    best = read_results(game, search)
    policy = search.tree.roots[0].policy
    return draw_action(search.params[0], search.rngs[0], best, policy, search.action_values[0])
