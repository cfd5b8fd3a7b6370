"""Players from outside: functions, torch modules and exported networks as agents.

Their names are ``python:MODULE:OBJECT`` and ``onnx:FILE``; `names.as_agent` takes objects, too.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ludarium.base.messages import did_you_mean, named, quoted, shortened
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.opponents import Policy, ask
from ludarium.envs.plugins import import_own
from ludarium.envs.registry import make_stored_game
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import checked, in_canonical_frame
from ludarium.models.inference import torch_threads_for

from .agent import Agent, AgentSpec, Needs, Seed
from .checkpoints import NetworkSpec
from .settings import read_flag, read_number, setting

if TYPE_CHECKING:
    import torch

    from ludarium.models import PolicyValueNetwork


class FunctionAgent(Agent):
    """Calls a function for each position.

    It does not `search`, because only the action is known.

    Args:
        game: the rules.
        policy: see `Policy`.
        name: the name in tables.
    """

    def __init__(self, game: Game, policy: Policy, name: str) -> None:
        super().__init__(game, name)
        self.policy = policy

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The function's action for each position; see `Agent.actions`.

        Raises:
            ValueError: it returned neither an integer nor the text of a legal action. Whether an
                integer is legal is checked where it is played.
        """
        return np.array([self._ask(state) for state in self._check(states)], np.int64)

    def _ask(self, state: np.ndarray) -> int:
        if state["outcome"] != ONGOING:
            return -1
        return ask(self.policy, Position.of_state(self.game, state), f"agent {self.name}")


@dataclass(frozen=True, kw_only=True)
class ExportedSpec(NetworkSpec):
    """The agent of a file that `ludarium.models.export` wrote.

    Attributes:
        path: path of the file.
    """

    usage = "onnx:FILE"
    help = "a network that `ludarium export` wrote"
    argument = ""

    path: Path

    @property
    def subject(self) -> str:
        """``onnx:`` and the path."""
        return f"onnx:{self.path}"

    @property
    def short(self) -> str:
        """``onnx:`` and the file's name."""
        return f"onnx:{named(self.path.name)}"

    def network_file(self, game: Game) -> Path:
        """The file itself; see `AgentSpec.network_file`."""
        return self.path

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``FILE``; see `AgentSpec.read`."""
        if not argument:
            raise ValueError("onnx needs a file: onnx:FILE")
        return super().read(None, settings, path=Path(argument))

    def choose_game(self, options: dict[str, Any], name: str | None = None) -> Game:
        """The game that it was trained for; see `AgentSpec.choose_game`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is no such network or names no such game, or there is no such option.
            ImportError: onnxruntime is not installed.
        """
        from ludarium.models.export import load_exported

        metadata = load_exported(self.path).metadata
        if not {"game", "options"} <= metadata.keys():
            raise ValueError(
                f"{quoted(str(self.path))} does not say its game and the game's options"
            )
        try:
            game = make_stored_game(metadata["game"], metadata["options"])
        except ValueError as error:
            raise ValueError(f"{named(self.path)}: {shortened(str(error), 280)}") from None
        return make_stored_game(game.name, game.options, **options) if options else game

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`.

        Raises:
            FileNotFoundError, ImportError: see `choose_game`.
            ValueError: the network does not fit the game, or the settings do not fit the network.
        """
        return self.make_of(game, self._evaluator(game), seed)

    def _evaluator(self, game: Game) -> Evaluator:
        from ludarium.models.export import load_exported

        network = load_exported(self.path)
        ours = describe_game(game)
        for key in ("game", "version", "observation", "actions"):
            if network.metadata.get(key) != ours[key]:
                raise ValueError(
                    f"{quoted(str(self.path))} does not fit {game}: its {key} is "
                    f"{quoted(network.metadata.get(key))}"
                )

        return network.evaluate


@dataclass(frozen=True, kw_only=True)
class ObjectSpec(AgentSpec):
    """An agent of the caller's object.

    Attributes:
        player: an `Agent`; a class of them, or a function of a game and a seed that makes one; or a
            `Policy`. Agents that it makes may share data, so one thread at a time uses them.
        name: its name.
    """

    needs = Needs.CODE | Needs.ONE_THREAD

    player: Any = field(hash=False)
    name: str

    @property
    def subject(self) -> str:
        """The object's name."""
        return self.name

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``, or return the one that is made; see `AgentSpec.make`."""
        agent = self.player
        if not isinstance(agent, Agent) and _makes_agents(agent):
            try:
                inspect.signature(agent).bind(game=game, seed=seed)
            except TypeError as error:
                raise ValueError(f"{self.name} is called with game and seed: {error}") from None
            agent = agent(game=game, seed=seed)
            if not isinstance(agent, Agent):
                raise ValueError(f"{self.name} made {quoted(agent)}, which is not an Agent")
        if not isinstance(agent, Agent):
            return FunctionAgent(game, agent, self.label)
        if agent.game != game:
            raise ValueError(f"agent {agent.name} plays {agent.game}, not {game}")
        return agent


@dataclass(frozen=True, kw_only=True)
class ModuleSpec(NetworkSpec):
    """The agent of a torch module, which by default plays without search; see `as_agent`.

    Attributes:
        module: the module.
        name: its name.
    """

    usage = "python:MODULE:OBJECT"
    help = "your own: a function from a position to an action, a torch module, or an Agent"
    risk = "runs code"
    argument = ""
    filled_in = {"simulations": 0}

    simulations: int | None = setting(
        read_number, "simulations for each move, for a torch module with values; none by default"
    )
    canonical: bool = setting(
        read_flag, "true shows a module the canonical frame in place of the board's own", False
    )
    module: torch.nn.Module = field(hash=False)
    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings.score:
            raise ValueError("score is not for a module of your own: leave it out")

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Import the object that ``MODULE:OBJECT`` names; the current folder is searched too.

        Returns:
            The spec of the object, whatever it is; settings are for a torch module.

        Raises:
            ValueError: there is no such module or object, or the object cannot play; or see
                `AgentSpec.read`.
        """
        path, colon, wanted = (argument or "").partition(":")
        if not (path and colon and wanted):
            raise ValueError("write python:MODULE:OBJECT, such as python:mine:policy for mine.py")
        player: Any = import_own(path)
        for part in wanted.split("."):
            if not hasattr(player, part):
                file = getattr(sys.modules[path], "__file__", None) or "no file"
                meant = did_you_mean(part, vars(player)) if hasattr(player, "__dict__") else ""
                raise ValueError(f"{path} has no {quoted(part)} ({named(file)}){meant}")
            player = getattr(player, part)
        name, module = f"python:{argument}", _as_module(player)
        if module is not None:
            return super().read(None, settings, module=module, name=name)
        if settings:
            raise ValueError(f"{name} is not a torch module, so it takes no settings")
        return spec_of_object(player, name)

    @property
    def subject(self) -> str:
        """The module's name."""
        return self.name

    @property
    def needs(self) -> Needs:
        """As `NetworkSpec.needs`, and the module, which may change and be used elsewhere."""
        return super().needs | Needs.CODE | Needs.ONE_THREAD

    def with_simulations(self, simulations: int | None) -> Self:
        """The same: by default there is no search."""
        return self

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        is_search = bool(self.simulations) or self.time is not None
        network = _of_module(self.module, game, self.name, is_search, self.canonical)
        return self.make_of(game, network, seed)


def spec_of_object(player: Any, name: str | None = None, **settings: Any) -> AgentSpec:
    """The spec of an object that can play, which is neither a spec nor a name.

    Args:
        player: the object, see `names.as_agent`.
        name: the agent's name; default: the name of the object or of its class.
        settings: settings of a `ModuleSpec`.

    Raises:
        ValueError: it cannot play, or it is no torch module and takes no settings.
    """
    label = name or _label(player)
    module = _as_module(player)
    if module is not None:
        return ModuleSpec(module=module, name=label, **settings)
    if settings:
        raise ValueError(f"{label} is not a torch module, so it takes no settings")
    if not (isinstance(player, Agent) or callable(player)):
        raise ValueError(
            f"{quoted(player)} cannot play: give an agent, its name, a function from a "
            "position to an action, or a torch module"
        )
    return ObjectSpec(player=player, name=label)


def _label(player: Any) -> str:
    return str(getattr(player, "__name__", None) or type(player).__name__)


def _as_module(player: Any) -> torch.nn.Module | None:
    """The torch module, made without arguments if its class is given; None for anything else."""
    if "torch" not in sys.modules:  # a module exists only if torch is imported
        return None
    from torch.nn import Module

    if isinstance(player, Module):
        return player
    if inspect.isclass(player) and issubclass(player, Module):
        try:
            return player()
        except TypeError as error:
            raise ValueError(
                f"{_label(player)} cannot be made without arguments: give a module that is made "
                f"({shortened(str(error))})"
            ) from error
    return None


def _makes_agents(player: Any) -> bool:
    """Whether it is a class of agents, or a function whose parameters begin with game and seed."""
    if inspect.isclass(player):
        return issubclass(player, Agent)
    try:
        names: Sequence[str] = list(inspect.signature(player).parameters)
    except (TypeError, ValueError):
        return False
    return names[:2] == ["game", "seed"]


def _of_module(
    module: Any, game: Game, name: str, is_search: bool, canonical: bool
) -> PolicyValueNetwork | Evaluator:
    """A network of this package as it is; else the module's evaluator in its frame."""
    from ludarium.models import PolicyValueNetwork

    if isinstance(module, PolicyValueNetwork):
        return module
    evaluate = module_evaluator(module, game, name, needs_values=is_search)
    return in_canonical_frame(evaluate) if canonical else evaluate


def module_evaluator(module: Any, game: Game, name: str, needs_values: bool) -> Evaluator:
    """A torch module as an evaluator of float32 [B, *observation_shape].

    Values are 0 if the module returns none.

    Raises:
        ValueError: the module fails on one observation; or its answer has other shapes than
            `names.as_agent` describes, is not finite, has a value outside [-1, 1], or no values
            although ``needs_values``.
    """
    import torch

    def answer_of(observations: np.ndarray) -> Any:
        were_training = [(part, part.training) for part in module.modules()]
        module.eval()
        try:
            with torch.inference_mode(), torch_threads_for(module, observations.shape):
                device = next((each.device for each in module.parameters()), None)
                return module(torch.from_numpy(np.ascontiguousarray(observations)).to(device))
        finally:
            for part, was_training in were_training:
                part.training = was_training

    def evaluation_of(answer: Any, count: int) -> Evaluation:
        found = _evaluation_of(answer, count, name, needs_values)
        return checked(found, count, game.num_actions, name)

    def evaluate(observations: np.ndarray) -> Evaluation:
        return evaluation_of(answer_of(observations), len(observations))

    shape = (1, *game.observation_shape)
    try:
        answer = answer_of(np.zeros(shape, np.float32))
    except Exception as error:  # a user's module may raise anything
        reason = shortened(f"{type(error).__name__}: {error}")
        raise ValueError(f"{name} takes no observations {shape} of {game}: {reason}") from error
    evaluation_of(answer, 1)
    return evaluate


def _evaluation_of(answer: Any, count: int, name: str, needs_values: bool) -> Evaluation:
    """A torch module's answer to ``count`` observations as an `Evaluation`, see `names.as_agent`.

    Raises:
        ValueError: it is no tensor or tuple of these forms, or has no values although
            ``needs_values``.
    """
    import torch

    given = answer if isinstance(answer, tuple) else (answer,)
    if len(given) > 1 and given[-1] is None:
        given = given[:-1]
    if not 1 <= len(given) <= 3 or not all(isinstance(each, torch.Tensor) for each in given):
        kinds = ", ".join(type(each).__name__ for each in given) or "an empty tuple"
        raise ValueError(
            f"{name} returned {kinds}; return a tensor of policy logits, or a tuple of these and "
            "values [B], or of these, outcome logits [B, 3] and perhaps scores [B]"
        )
    logits, *others = (each.float().cpu().numpy() for each in given)
    if len(others) == 2 or (others and others[0].shape[1:] == (3,)):
        wdl = torch.from_numpy(others[0]).softmax(-1).numpy()
        score = others[1].reshape(-1) if len(others) == 2 else np.full(count, np.nan, np.float32)
        return Evaluation(logits, wdl, score)
    if not others and needs_values:
        raise ValueError(f"{name} returned no values, which a search needs: play without a search")
    values = others[0].reshape(-1) if others else np.zeros(count, np.float32)
    return Evaluation.of_values(logits, values)
