"""One network for all boards and options of a game."""

import pytest
import torch

from ludarium.envs import make_game
from ludarium.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ludarium.models.family import FamilyNetwork, Member
from ludarium.models.options import option_features
from ludarium.models.shape import Architecture, NetworkShape, check_member
from ludarium.training.networks import (
    family_shape,
    fits,
    fitted,
    learnt_options,
    network_shape,
    random_observations,
)
from tests.checkpoints import in_use
from tests.games import slow_but

CHANNELS, BLOCKS = 6, 3
SETS = {
    "corso": [{"size": 3}, {"size": 5}, {"size": 4}],
    "onyx": [{"size": 6}, {"size": 8, "swap_rule": True}],
    "obsidio": [{"size": 7}, {"size": 9, "diagonal_adjacency": False}],
    "osiron": [{"setup": "beginner"}, {"setup": "random"}],
    "obelisk": [{"scoring": "points"}, {"scoring": "topple"}],
}


def games_of(name):
    return [make_game(name, **options) for options in SETS[name]]


def family_of(games):
    """A family with weights and statistics as after some learning."""
    torch.manual_seed(0)
    options = [game.options for game in games]
    members = [
        Member(network_shape(game), option_features(options, game.options)) for game in games
    ]
    features = len(members[0].features)
    return in_use(FamilyNetwork(family_shape(games), CHANNELS, BLOCKS, features, members))


def observations_of(games, count=5):
    return [torch.from_numpy(random_observations(game, count, seed=1)) for game in games]


def checkpoint_of(games, network):
    return Checkpoint(
        game=games[0].name,
        version=games[0].version,
        options=dict(games[0].options),
        shape=family_shape(games),
        architecture=Architecture(
            {"channels": CHANNELS, "blocks": BLOCKS, "features": network.options.in_features}
        ),
        step=1,
        network=network,
        variants=[dict(game.options) for game in games],
    )


def test_options_are_features_that_tell_the_sets_apart():
    variants = [
        {"size": 6, "start": "standard", "swap_rule": False, "max_plies": None},
        {"size": 12, "start": "open", "swap_rule": True, "max_plies": None},
        {"size": 8, "start": "open", "swap_rule": False, "max_plies": None},
    ]
    found = [option_features(variants, each) for each in variants]
    assert found[0] == [-1, 0, 1, 1, 0]
    assert found[1] == [1, 1, 0, 0, 1]
    assert found[2] == pytest.approx([-1 / 3, 1, 0, 1, 0])
    assert option_features(variants, variants[0] | {"size": 18, "max_plies": 9})[0] == 3
    unknown = option_features(variants, variants[0] | {"start": "your own"})
    assert unknown == [-1, 0.5, 0.5, 1, 0], "a value that was not learnt is the mean of those"


@pytest.mark.parametrize("name", slow_but(["corso"], SETS))
def test_a_member_is_the_family_without_the_other_games(name):
    games = games_of(name)
    family = family_of(games)
    observations = observations_of(games)
    with torch.no_grad():
        together = family.together(list(enumerate(observations)))
        for member, observation, output in zip(family.members, observations, together, strict=True):
            alone = family.member(*member)(observation)
            for ours, theirs in zip(alone, output, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
            assert alone.policy.shape == (5, member.shape.num_actions)


@pytest.mark.parametrize("name", slow_but(["corso"], SETS))
def test_options_matter_and_every_weight_learns(name):
    games = games_of(name)
    family = family_of(games).train()
    outputs = family.together(list(enumerate(observations_of(games))))
    total = sum(part.square().sum() for output in outputs for part in output)
    for parameter in torch.autograd.grad(total, list(family.parameters())):
        assert parameter.abs().sum() > 0
    first, other = (
        family.eval().member(network_shape(games[0]), member.features)
        for member in (family.members[0], family.members[1])
    )
    observation = observations_of(games)[0]
    with torch.no_grad():
        assert not torch.allclose(first(observation).outcome, other(observation).outcome)


def test_a_member_may_have_fewer_actions_than_the_family():
    """The places on the policy's planes are the same for all; a member has the first planes."""
    few = NetworkShape((3, 4, 5), 4, (0, 7, 3, 19))
    many = NetworkShape((3, 4, 5), 6, (0, 7, 3, 19, 25, 59))
    torch.manual_seed(4)
    members = [Member(few, (0.0,)), Member(many, (0.0,))]
    family = FamilyNetwork(many, CHANNELS, BLOCKS, 1, members).eval()
    observation = torch.rand(7, 3, 4, 5)
    with torch.no_grad():
        short, long = family.together([(0, observation), (1, observation)])
        alone = family.member(few, (0.0,))(observation)
    torch.testing.assert_close(short.policy, long.policy[:, :4])
    torch.testing.assert_close(alone.policy, short.policy)
    with pytest.raises(ValueError, match=r"3 planes.* does not fit"):
        FamilyNetwork(few, CHANNELS, BLOCKS, 1, members)


def test_batches_are_normalised_with_the_statistics_of_all_boards():
    """Two boards of one size as two games are one batch for an ordinary network."""
    games = [make_game("corso", size=4), make_game("corso", size=4)]
    torch.manual_seed(3)
    shape = network_shape(games[0])
    family = FamilyNetwork(shape, CHANNELS, BLOCKS, 2, [Member(shape, (0, 0))] * 2)
    alone = family.member(shape, (0, 0)).train()
    observation = torch.from_numpy(random_observations(games[0], 12, seed=2))
    together = family.train().together([(0, observation[:7]), (1, observation[7:])])
    expected = alone(observation)
    for place in range(3):
        found = torch.cat([output[place] for output in together])
        torch.testing.assert_close(found, expected[place], rtol=1e-4, atol=1e-5)
    for name, value in alone.state_dict().items():
        if "running" in name:
            torch.testing.assert_close(family.network.state_dict()[name], value)


def test_a_checkpoint_plays_every_board_even_one_it_did_not_learn(tmp_path):
    games = games_of("corso")
    family = family_of(games)
    path = save_checkpoint(checkpoint_of(games, family), tmp_path / "all.safetensors")
    loaded = load_checkpoint(path)
    assert loaded.variants == [dict(game.options) for game in games]
    observation = observations_of(games)[1]
    with torch.no_grad():
        ours = fitted(loaded, games[1], "it").network(observation)
        theirs = family.member(*family.members[1])(observation)
        other = make_game("corso", size=max(game.options["size"] for game in games) + 2)
        answer = fitted(loaded, other, "it").network(observations_of([other])[0])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)
    assert answer.policy.shape == (5, other.num_actions)
    assert torch.isfinite(answer.policy).all()
    assert learnt_options(loaded, games[1].options) == games[1].options
    assert not fits(loaded, make_game("onyx"))


def test_damaged_descriptions_are_refused(tmp_path):
    games = games_of("corso")
    network = family_of(games)
    good = checkpoint_of(games, network)
    for change in (
        {"variants": good.variants[:1]},
        {"variants": [*good.variants, {"colour": "red"}]},
        {"variants": []},
    ):
        bad = Checkpoint(**(vars(good) | change))
        path = save_checkpoint(bad, tmp_path / "bad.safetensors")
        with pytest.raises(ValueError, match=r"variants|features|sets of options"):
            load_checkpoint(path)


def test_shapes_that_no_family_has_are_refused():
    onyx, corso = make_game("onyx", size=6), make_game("corso", size=3)
    with pytest.raises(ValueError, match="planes"):
        check_member(network_shape(corso), network_shape(onyx))
    with pytest.raises(ValueError, match="actions"):
        check_member(network_shape(make_game("obelisk")), network_shape(corso))
    with pytest.raises(ValueError, match="one feature"):
        FamilyNetwork(network_shape(corso), 4, 1, 0)
    with pytest.raises(ValueError, match="some on the board"):
        FamilyNetwork(NetworkShape((3, 4, 5), 2, (-1, -1)), 4, 1, 1)
    with pytest.raises(ValueError, match="features"):
        family_of(games_of("corso")).member(network_shape(corso), [1.0, 2.0])
