"""The architecture of a network: one of this package's, or the user's own class.

The user registers a network class under a name; configurations and checkpoints refer to it by that
name. A name in a file never causes an import.
"""

from __future__ import annotations

import copy
import inspect
import re
import traceback
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ludarium.base.messages import quoted, shortened

from .family import FamilyNetwork
from .network import Output, PolicyValueNetwork, build_network
from .shape import Architecture, NetworkShape

_COMPARED = 4  # observations by which a network is compared with the saved one
_TOLERANCE = 1e-3  # another layout of the memory rounds otherwise


class OwnNetwork(PolicyValueNetwork):
    """Wraps a user's network so that it returns an `Output`.

    Args:
        name: ``package.module:Class``, for messages.
        module: its output is an `Output`, or a tuple (policy, outcome) or (policy, outcome, score).
    """

    def __init__(self, name: str, module: nn.Module) -> None:
        super().__init__()
        self.name = name
        self.module = module

    def forward(self, observation: Tensor) -> Output:
        """Evaluate float observations [B, *shape.observation]."""
        answer = self.module(observation)
        if not isinstance(answer, tuple):
            raise TypeError(f"it returned {type(answer).__name__}")
        policy, outcome, *score = answer
        return Output(policy, outcome, *score or [None])


_MODULE_NAME = re.compile(r"[A-Za-z_][\w.]{0,199}:[A-Za-z_]\w{0,99}", re.ASCII)
_own_modules: dict[str, type[nn.Module]] = {}


def register_network(name: str, module: type[nn.Module]) -> None:
    """Register a user's network class under the name that configurations and checkpoints use.

    The command line does so with ``--network-module``.

    Args:
        name: ``package.module:Class``, as configurations write it.
        module: the class; it is called as ``module(shape, **options)`` with a `NetworkShape` and
            the options of the configuration. See `OwnNetwork` for what its instances return.

    Raises:
        ValueError: the name has another form, or ``module`` is not a subclass of ``nn.Module``.
    """
    if not (isinstance(name, str) and _MODULE_NAME.fullmatch(name)):
        raise ValueError(f"a network is named package.module:Class, not {str(name)[:100]!r}")
    if not (isinstance(module, type) and issubclass(module, nn.Module)):
        raise ValueError(f"{name} is {module!r:.100}, which is not a subclass of torch.nn.Module")
    _own_modules[name] = module


def make_network(shape: NetworkShape, architecture: Architecture) -> PolicyValueNetwork:
    """Make a network with fresh random weights.

    Raises:
        ValueError: no such network is registered; the options or the shape do not fit it; or its
            constructor raises an error, which the ValueError has as its ``__cause__``.
    """
    name, options = architecture.module, architecture.options
    if name is None:
        if set(options) == {"channels", "blocks", "features"}:
            return FamilyNetwork(shape, **options)
        if set(options) != {"channels", "blocks"}:
            raise ValueError(
                "a network needs channels and blocks, and features if it is for many boards, not "
                f"{', '.join(options)!r:.200}"
            )
        return build_network(shape, **options)
    if name not in _own_modules:
        raise ValueError(
            f"the network {quoted(name, 100)} is custom code, which runs only if you "
            "name it: register_network (docs/guide/own-network.md)"
        )
    made_by = _own_modules[name]
    try:
        inspect.signature(made_by).bind(shape, **options)
    except TypeError as error:
        raise ValueError(
            f"the network {name} does not fit its options: {str(error)[:200]}"
        ) from None
    try:
        return OwnNetwork(name, made_by(shape, **options))
    except Exception as error:  # a custom network may raise anything
        raise ValueError(f"the network {name} cannot be made: {_message_of(error)}") from error


def _message_of(error: Exception) -> str:
    """The error of a user's code, and the last line outside torch that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    torchs = str(Path(torch.__file__).parent)
    frame = next(
        (each for each in frames[::-1] if not each.filename.startswith(torchs)), frames[-1]
    )
    reason = shortened(str(error)) or "no reason given"
    return f"{type(error).__name__}: {reason} ({Path(frame.filename).name}, line {frame.lineno})"


def state_types(
    shape: NetworkShape, architecture: Architecture
) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Dtype and shape of each weight of a network, found without allocating the weights.

    Raises:
        ValueError: as for `make_network`; or a network of the user's own cannot be made on torch's
            device ``meta``.
    """
    with torch.device("meta"):
        try:
            state = make_network(shape, architecture).state_dict()
        except (RuntimeError, ValueError) as error:
            reason = error if isinstance(error, RuntimeError) else error.__cause__
            if not isinstance(reason, RuntimeError):
                raise
            raise ValueError(
                f"the network {architecture.module} cannot be made on torch's device 'meta', which "
                f"knows shapes only: {str(reason)[:200]}"
            ) from error
    return {name: (value.dtype, tuple(value.shape)) for name, value in state.items()}


def check_network(
    network: PolicyValueNetwork, shape: NetworkShape, architecture: Architecture
) -> None:
    """Check that a user's network can learn, can be saved and loaded, and returns valid outputs in
    training.

    Raises:
        ValueError: the network raises an error or cannot be copied; an output is missing, has
            another shape or dtype, or is not finite; there are no parameters, or one has no shape
            yet, does not learn or has no part in the outputs; or the network cannot be saved, or
            would be another one once it is loaded.
    """
    name = architecture.module
    try:
        twin = copy.deepcopy(network)
    except Exception as error:  # a custom network may hold anything
        raise ValueError(f"{name} cannot be copied: {_message_of(error)}") from error
    parameters = dict(twin.named_parameters())
    if not parameters:
        raise ValueError(f"{name} has no parameters, so there is nothing to learn")
    for each, parameter in parameters.items():
        if is_lazy(parameter):
            raise ValueError(f"the parameter {each} of {name} has no shape yet; give its sizes")
        if not parameter.requires_grad:
            raise ValueError(f"the parameter {each} of {name} does not learn; make it a buffer")
    for each, value in twin.state_dict().items():
        if not isinstance(value, Tensor) or value.is_complex() or value.layout != torch.strided:
            raise ValueError(f"{each} of {name} is {quoted(value)}, which no checkpoint can hold")
    observations = torch.stack([torch.zeros(shape.observation), torch.ones(shape.observation)])
    try:
        with torch.no_grad():
            twin.eval()(observations[:1])  # a batch of one, as a search may ask
        output = twin.train()(observations)
    except Exception as error:  # a custom network may raise anything
        raise ValueError(
            f"{name} must return (policy, outcome) or (policy, outcome, score) of observations: "
            f"{_message_of(error)}"
        ) from error
    sizes = {"policy": (2, shape.num_actions), "outcome": (2, 3), "score": (2,)}
    found = [tensor for tensor in output if tensor is not None]
    for (kind, size), tensor in zip(sizes.items(), output, strict=True):
        if kind != "score" or tensor is not None:
            _check_output(f"the {kind} of {name}", tensor, size)
    total = torch.stack([tensor.sum() for tensor in found]).sum()
    if not total.requires_grad:
        raise ValueError(f"nothing that {name} returns has a gradient: it is detached")
    try:
        gradients = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
    except RuntimeError as error:
        raise ValueError(f"{name} cannot learn: {_message_of(error)}") from error
    unused = [each for each, grad in zip(parameters, gradients, strict=True) if grad is None]
    if unused:
        raise ValueError(f"nothing that {name} returns depends on {', '.join(unused[:5])}")
    state = {each: (value.dtype, tuple(value.shape)) for each, value in twin.state_dict().items()}
    if state != state_types(shape, architecture):
        raise ValueError(
            f"{name} must have weights of the same names, shapes and dtypes whenever it is made"
        )
    check_saved(twin, shape, architecture)


def check_saved(
    network: PolicyValueNetwork, shape: NetworkShape, architecture: Architecture
) -> None:
    """Check that a user's network is all in its ``state_dict``, which is what a checkpoint holds.

    A new instance with this state must give the same answers when it plays; torch's random numbers
    on the CPU go on as if it had not been made.

    Raises:
        ValueError: the state cannot be loaded, or the answers differ; or see `make_network`.
        Exception: what the network itself raises.
    """
    name = architecture.module
    ours = copy.deepcopy(network).cpu()
    with torch.random.fork_rng(devices=[]):
        loaded = make_network(shape, architecture)
        try:
            loaded.load_state_dict(
                {each: value.clone() for each, value in ours.state_dict().items()}
            )
        except RuntimeError as error:
            raise ValueError(
                f"{name} cannot be loaded later: {shortened(str(error), 300)}; make the same names "
                "and sizes each time, and give each buffer memory of its own (.clone())"
            ) from error
        answers = [_answers(each, shape) for each in (ours, loaded)]
    if not all(
        torch.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
        for one, other in zip(*answers, strict=True)
    ):
        raise ValueError(
            f"{name} would be another network once it is saved and loaded: something that it "
            "computes with is not in its state_dict; register it as a parameter or as a buffer "
            "(not with persistent=False), or let the constructor derive it from its arguments"
        )


@torch.no_grad()
def _answers(network: PolicyValueNetwork, shape: NetworkShape) -> list[Tensor]:
    """What a network on the CPU answers; what draws by torch draws the same."""
    torch.default_generator.manual_seed(1)
    observations = torch.rand(_COMPARED, *shape.observation)
    return [answer for answer in network.eval()(observations) if answer is not None]


def _check_output(name: str, tensor: Any, size: tuple[int, ...]) -> None:
    found = (
        f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
        if isinstance(tensor, Tensor)
        else type(tensor).__name__
    )
    if found != f"float32 {list(size)}":
        raise ValueError(f"{name} must be float32 {list(size)} for two observations, not {found}")
    if not torch.isfinite(tensor).all():
        raise ValueError(f"{name} is not finite")
