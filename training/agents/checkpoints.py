"""Trained agents in checkpoint files: which file a name means, and whether it fits a game.

The header of a file describes its game; weights are read only when an agent is made.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ludarium.base.messages import did_you_mean, escaped, named, quoted, shortened
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, make_stored_game
from ludarium.models import CheckpointHeader, load_header
from ludarium.training.search.settings import OPTIONS

from ..networks import fits, learnt_options, stored_network
from .agent import Agent, AgentSpec, Needs, Seed
from .network import NetworkAgent
from .settings import (
    DEFAULT_SIMULATIONS,
    LCB,
    TEMPERATURE_HELP,
    TIME_HELP,
    duration_text,
    options_setting,
    read_duration,
    read_number,
    read_real,
    setting,
)
from .timed import TimedNetworkAgent

if TYPE_CHECKING:
    from ludarium.models import Evaluator
    from ludarium.models.inference import Network

_SUFFIX = ".safetensors"
_LATEST = f"agent{_SUFFIX}"  # name in a run's folder


@dataclass(frozen=True, kw_only=True)
class NetworkSpec(AgentSpec):
    """An agent with a network; see `NetworkAgent`.

    Without a number or a time it takes as many simulations as ``filled_in`` says.

    Raises:
        ValueError: there are simulations and a time, or an option would have no effect.
    """

    argument = "simulations"
    filled_in: ClassVar[Mapping[str, Any]] = {"simulations": DEFAULT_SIMULATIONS}

    simulations: int | None = setting(
        read_number,
        f"simulations for each move, {DEFAULT_SIMULATIONS} by default; 0 plays the policy alone",
    )
    time: float | None = setting(read_duration, TIME_HELP, write=duration_text)
    temperature: float = setting(read_real, TEMPERATURE_HELP, 0.0)
    search: tuple[tuple[str, Any], ...] = options_setting()
    lcb: float | None = setting(
        read_real,
        "with a time: the move is chosen by its value minus this many standard errors",
    )
    _is_usual: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # What is not given is written down, and what is given in vain is left out, so that specs of
        # agents that play alike are equal.
        if self.time is not None and self.simulations is not None:
            raise ValueError("give simulations or a time for each move, not both")
        is_usual = self.time is None and self.simulations is None
        object.__setattr__(self, "_is_usual", is_usual)
        if is_usual:
            object.__setattr__(self, "simulations", self.filled_in["simulations"])
        usual = self._check_options()
        search = tuple((key, value) for key, value in self.search if value != usual[key])
        object.__setattr__(self, "search", search)
        if self.time is not None and self.lcb == LCB and not self.temperature:
            object.__setattr__(self, "lcb", None)

    def _check_options(self) -> dict[str, Any]:
        """Refuse options of the search that would have no effect; return the defaults of all."""
        given, usual = dict(self.search), "gumbel" if self.time is None else "puct"
        algorithm = given.get("algorithm", usual)
        if self.time is not None and algorithm != usual:
            raise ValueError(f"with a time the search is {usual}: leave out algorithm={algorithm}")
        for option in OPTIONS:
            if option.name not in given:
                continue
            if self.simulations == 0:
                raise ValueError(
                    f"{option.name} is for a search: give simulations too, or leave it out"
                )
            if option.algorithm not in ("", algorithm):
                raise ValueError(
                    f"{option.name} is for {option.algorithm}, and this search is {algorithm}: "
                    + ("" if self.time else f"give algorithm={option.algorithm} too, or ")
                    + "leave it out"
                )
        return {option.name: option.default for option in OPTIONS} | {"algorithm": usual}

    @property
    def needs(self) -> Needs:
        """A network, and a score if the agent plays for it."""
        return Needs.NETWORK | (Needs.SCORE if self.settings.score else Needs.NOTHING)

    @property
    def settings(self) -> SearchSettings:
        """The settings of the search."""
        usual = "gumbel" if self.time is None else "puct"
        return SearchSettings(**{"algorithm": usual} | dict(self.search))

    def with_simulations(self, simulations: int | None) -> Self:
        """See `AgentSpec.with_simulations`."""
        if simulations is None or not self._is_usual:
            return self
        return replace(self, simulations=simulations)

    def drawing(self, temperature: float) -> Self:
        """The same, but moves are drawn at a temperature, unless they are drawn already."""
        return self if self.temperature else replace(self, temperature=temperature, lcb=None)

    def searching(self, simulations: int) -> Self:
        """The same with another number of simulations, in place of a time too; 0: no search."""
        # A time means PUCT, simulations mean Gumbel: so the algorithm is named.
        kept = {"algorithm": self.settings.algorithm, **dict(self.search)} if simulations else {}
        search = tuple(kept.items())
        return replace(self, simulations=simulations, time=None, lcb=None, search=search)

    def make_of(self, game: Game, network: Network | Evaluator, seed: Seed) -> Agent:
        """Make the agent with a network; raise ``ValueError`` if it cannot play that game."""
        agent: NetworkAgent
        given: dict[str, Any] = {"temperature": self.temperature, "settings": self.settings}
        if self.time is not None:
            timed = self.time, self.label, seed
            agent = TimedNetworkAgent(game, network, *timed, lcb=self.lcb, **given)
        elif self.lcb is not None:
            raise ValueError("lcb is for a time for each move, such as time=1s")
        else:
            agent = NetworkAgent(game, network, self.simulations or 0, self.label, seed, **given)
        agent.thinker = escaped(self.subject)
        return agent


@dataclass(frozen=True, kw_only=True)
class TrainedSpec(NetworkSpec):
    """The agent of a checkpoint."""

    @abstractmethod
    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The checkpoint file; of several shipped ones, the one for these options of the game.

        Raises:
            FileNotFoundError: there is no such file.
            ImportError, ValueError: it cannot be fetched from a hub, see `hub.fetch`.
        """

    def choose_game(self, options: dict[str, Any], name: str | None = None) -> Game:
        """The game that it was trained for; see `AgentSpec.choose_game`."""
        path = self.checkpoint_path(options)
        trained = load_header(path)
        try:
            game = make_stored_game(trained.game, trained.options)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{named(path)}: {shortened(str(error), 280)}") from None
        return make_stored_game(trained.game, trained.options, **options) if options else game

    def network_file(self, game: Game) -> Path:
        """The checkpoint file; see `AgentSpec.network_file`."""
        return self.checkpoint_path(game.options)

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        path = self.checkpoint_path(game.options)
        network = stored_network(path, game, self.short)
        if self.settings.score and game.max_score:
            _check_learnt_score(load_header(path), self.short)
        return self.make_of(game, network, seed)


@dataclass(frozen=True, kw_only=True)
class _OfGame(TrainedSpec):
    """An agent that ships with a game.

    Attributes:
        game: the game's name.
    """

    game: str

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``GAME[:SIMULATIONS]``; see `AgentSpec.read`."""
        name, colon, simulations = (argument or "").partition(":")
        if name not in GAMES:
            raise ValueError(
                f"{quoted(name)} is not a game{did_you_mean(name, GAMES)}; games: "
                f"{', '.join(GAMES)}"
            )
        return super().read(simulations if colon else None, settings, game=name)

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The file for these options; see `TrainedSpec.checkpoint_path`."""
        path = shipped_agent(self.game, options)
        if path is None:
            raise FileNotFoundError(
                f"there is no shipped agent of {self.game}; train one with "
                f"`ludarium train {self.game}`, or take another agent (uct:1000)"
            )
        return path


@dataclass(frozen=True, kw_only=True)
class ShippedSpec(_OfGame):
    """The shipped agent of a game; its name is the game's."""

    usage = "shipped:GAME[:SIMULATIONS]"
    help = "the shipped agent of a game, for its options"

    @property
    def subject(self) -> str:
        """The game's name."""
        return self.game


@dataclass(frozen=True, kw_only=True)
class PocketSpec(_OfGame):
    """The small agent of a game, for programs that ship one.

    Its file lies in ``shipped/pocket``; to the name of the shipped agent's file it adds
    ``-pocket``. Where there is none, this is the shipped agent.
    """

    usage = "pocket:GAME"
    help = "the small agent of a game, for programs that ship one; takes :SIMULATIONS too"

    @property
    def subject(self) -> str:
        """``pocket:`` and the game's name."""
        return f"pocket:{self.game}"

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The file for these options; see `TrainedSpec.checkpoint_path`."""
        usual = super().checkpoint_path(options)
        small = usual.parent / "pocket" / f"{usual.stem}-pocket{_SUFFIX}"
        return small if small.is_file() else usual


@dataclass(frozen=True, kw_only=True)
class CheckpointSpec(TrainedSpec):
    """The agent of a file or of a run.

    Attributes:
        path: path of the file or the run's folder.
    """

    usage = "PATH[:SIMULATIONS]"
    help = (
        "a checkpoint (.safetensors) or the folder of a run; ./uct for a file with the name of "
        "another agent"
    )

    path: Path

    @property
    def subject(self) -> str:
        """The path, with a separator, so that it is not taken for another agent's name."""
        path = str(self.path)
        return path if os.sep in path else os.path.join(os.curdir, path)

    @property
    def short(self) -> str:
        """The name of the file, without its suffix, or of the folder."""
        return named(self.path.resolve().name.removesuffix(_SUFFIX))

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The file itself, or the run's; see `TrainedSpec.checkpoint_path`."""
        return find_checkpoint(self.path)


def _check_learnt_score(checkpoint: CheckpointHeader, name: str) -> None:
    """Raise ``ValueError`` if a checkpoint's network has not learnt the final score."""
    weight: Any = checkpoint.notes  # which hold anything
    for key in ("config", "learner", "score_weight"):
        weight = weight.get(key) if isinstance(weight, dict) else None
    if checkpoint.notes.get("algorithm") == "ppo" or weight == 0:
        raise ValueError(
            f"checkpoint {name} has not learnt the final score: train it by alphazero, with "
            "learner.score_weight above 0, or leave out score="
        )


def find_checkpoint(path: Path) -> Path:
    """The checkpoint file at a path: the file itself, or a run folder's agent.safetensors.

    Raises:
        FileNotFoundError: there is none.
    """
    file = path / _LATEST if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no checkpoint at {named(path)}; train an agent first")
    return file


def holds_checkpoint(path: str) -> bool:
    """Whether a path is a file, which may be a checkpoint, or the folder of a run with an agent."""
    return os.path.isfile(path) or os.path.isfile(os.path.join(path, _LATEST))


def shipped_agents(game: str) -> list[Path]:
    """The shipped agents of a game; the default one first."""
    with as_file(files("ludarium.models").joinpath("shipped")) as folder:
        usual = Path(folder, f"{game}{_SUFFIX}")
        others = sorted(Path(folder).glob(f"{game}-*{_SUFFIX}"))
    return [usual, *others] if usual.is_file() else []


def shipped_agent(game: str, options: dict[str, Any] | None = None) -> Path | None:
    """The shipped agent of a game for these options; None if the game has no shipped agent.

    An agent that fits the game with these options is preferred to one that does not; among equals,
    the one that learnt a set of options that agrees with more of ``options``; then one that learnt
    a single set; then the default agent.
    """
    agents = shipped_agents(game)
    if len(agents) < 2 or not options:
        return agents[0] if agents else None
    headers = {path: load_header(path) for path in agents}

    def preference(path: Path) -> tuple[bool, int, bool]:
        header = headers[path]
        learnt = learnt_options(header, options)
        agreement = sum(name in learnt and learnt[name] == options[name] for name in options)
        return _plays(header, options), agreement, not header.variants

    return max(agents, key=preference)


def _plays(header: CheckpointHeader, options: dict[str, Any]) -> bool:
    """Whether a checkpoint's network fits its game with these options; false if they are wrong."""
    try:
        game = make_stored_game(header.game, header.options, **options)
    except ValueError:
        return False
    return fits(header, game)


def fitting_agent(game: Game) -> Path | None:
    """The shipped agent that `shipped_agent` prefers for a game; None if none can play it."""
    path = shipped_agent(game.name, game.options)
    return path if path is not None and fits(load_header(path), game) else None


def selecting_options(game: str) -> dict[Path, dict[str, Any]]:
    """For each shipped agent of a game, options that select it; agents of a single set come first.

    For an agent of many sets of options these are the options of its evaluation or, if they select
    another agent, the first set that it learnt and that selects it. The game's defaults are left
    out, unless an agent of a single set has another value.
    """
    headers = {path: load_header(path) for path in shipped_agents(game)}
    of_one = [header.options for header in headers.values() if not header.variants]
    defaults = {option.name: option.default for option in GAMES[game].option_list}
    found = {}
    for path, header in sorted(headers.items(), key=lambda entry: bool(entry[1].variants)):
        for options in (header.options, *header.variants):
            if shipped_agent(game, options) == path:
                found[path] = {
                    name: value
                    for name, value in options.items()
                    if any(value != others.get(name) for others in (defaults, *of_one))
                }
                break
    return found
