"""Converts networks to ONNX models.

The module runs the network once and records each operation, with its weights, as an ONNX node. This
takes milliseconds, so self-play can do it after every iteration. Networks with operations that this
module does not know go through torch's exporter, which takes seconds. Its graph is kept, and later
weights are inserted by name.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import fuse_conv_bn_eval
from torch.overrides import TorchFunctionMode, resolve_name

if TYPE_CHECKING:
    import onnx

#: Operator set of the models; ONNX Runtime reads it from version 1.12 on.
_OPSET = 17
_IR_VERSION = 8
#: Name of the first axis of input and outputs.
_BATCH = "batch"


class UnknownOperationError(ValueError):
    """A network uses an operation that this module cannot convert."""


def onnx_model(
    module: nn.Module,
    observation_shape: Sequence[int],
    input_name: str,
    output_names: Sequence[str],
    kept: dict[Any, onnx.ModelProto] | None = None,
) -> onnx.ModelProto:
    """The ONNX model of a module, for any batch.

    Args:
        module: in evaluation mode, on the CPU: float32 [B, *observation_shape] to a tuple of
            tensors [B, ...]. It is not changed.
        observation_shape: of one observation.
        input_name, output_names: names in the model.
        kept: where graphs of torch's exporter are kept from one call for this network (with
            whatever weights) to the next.

    Returns:
        The model. Nodes are named after the modules that they come from: ``/network/stem/0/Conv``.

    Raises:
        ImportError: the network needs torch's exporter, and ``onnxscript`` is not installed.
        ValueError: torch's exporter cannot write the network.
    """
    try:
        return write_model(module, observation_shape, input_name, output_names)
    except UnknownOperationError as unknown:
        key = (tuple(observation_shape), input_name, tuple(output_names))
        kept = {} if kept is None else kept
        if key not in kept:
            kept[key] = _torch_model(module, *key, reason=str(unknown))
        return _with_weights(kept[key], module.state_dict())


def write_model(
    module: nn.Module,
    observation_shape: Sequence[int],
    input_name: str,
    output_names: Sequence[str],
) -> onnx.ModelProto:
    """The same, operation by operation.

    Raises:
        UnknownOperationError: the network does something else than what is known here.
    """
    module = with_normalisation_folded(module)
    observation = torch.zeros(2, *observation_shape)
    writer = _Writer(module, observation, input_name)
    with torch.inference_mode(), writer:
        outputs = module(observation)
    return writer.model(dict(zip(output_names, outputs, strict=True)))


def with_normalisation_folded(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode, batch normalisation folded into the preceding convolution."""
    module = copy.deepcopy(module).eval().requires_grad_(False)
    for container in list(module.modules()):
        if not isinstance(container, nn.Sequential):
            continue
        for index in range(len(container) - 1):
            first, second = container[index], container[index + 1]
            if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                container[index] = fuse_conv_bn_eval(first, second)
                container[index + 1] = nn.Identity()
    return module


# Operation by operation.


class _Writer(TorchFunctionMode):
    """Context in which every operation on tensors is also recorded as ONNX nodes.

    Args:
        module: the network, whose weights become initialisers.
        observation: its input.
        input_name: the name of that in the model.
    """

    def __init__(self, module: nn.Module, observation: Tensor, input_name: str) -> None:
        super().__init__()
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._weights = {
            id(tensor): (name, tensor)
            for named in (module.named_buffers(), module.named_parameters())
            for name, tensor in named
        }
        self._names = {id(observation): input_name}
        self._tensors = [observation]  # kept, so that no other one gets the same id
        self._scopes = [""]
        for name, part in module.named_modules():
            part.register_forward_pre_hook(lambda *_, name=name: self._scopes.append(name))
            part.register_forward_hook(lambda *_: self._leave())

    def _leave(self) -> None:
        self._scopes.pop()

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run torch's function and record it."""
        kwargs = kwargs or {}
        if func in _QUESTIONS:
            return func(*args, **kwargs)
        if func not in _OPERATIONS:
            raise UnknownOperationError(f"{resolve_name(func) or func} has no counterpart in ONNX")
        result = func(*args, **kwargs)
        if not isinstance(result, Tensor) or result.dtype != torch.float32:
            raise UnknownOperationError(f"{resolve_name(func)} gives something else than float32")
        try:
            name = _OPERATIONS[func](self, *args, **kwargs)
        except TypeError as error:  # arguments that the function here does not take
            raise UnknownOperationError(f"{resolve_name(func)}: {error}") from None
        self._names[id(result)] = name
        self._tensors.append(result)
        return result

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Write a node; returns the name of its output."""
        from onnx import helper

        scope = self._scopes[-1].replace(".", "/")
        name = f"/{scope}/{operator}_{len(self.nodes)}"
        output = f"{name}_output"
        self.nodes.append(helper.make_node(operator, inputs, [output], name, **attributes))
        return output

    def name_of(self, tensor: Tensor) -> str:
        """The name of a tensor in the model; a weight is added when it is first used."""
        if id(tensor) not in self._names:
            if id(tensor) not in self._weights:
                raise UnknownOperationError("it makes tensors of its own")
            name, _ = self._weights[id(tensor)]
            self._names[id(tensor)] = self.constant(tensor.detach().numpy(), name)
        return self._names[id(tensor)]

    def constant(self, array: np.ndarray, name: str | None = None) -> str:
        """Add an array to the model; returns its name."""
        from onnx import numpy_helper

        name = name or f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def operand(self, value: Tensor | float) -> str:
        """The name of a tensor or of a number."""
        if isinstance(value, Tensor):
            return self.name_of(value)
        if not isinstance(value, int | float):
            raise UnknownOperationError(f"an operand is {value!r}")
        return self.constant(np.array(value, np.float32))

    def model(self, outputs: Mapping[str, Tensor]) -> onnx.ModelProto:
        """The recorded model, with its outputs by name."""
        from onnx import TensorProto, helper

        def described(name: str, tensor: Tensor) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(
                name, TensorProto.FLOAT, [_BATCH, *tensor.shape[1:]]
            )

        for name, tensor in outputs.items():
            self.nodes.append(helper.make_node("Identity", [self.name_of(tensor)], [name]))
        needed = set(outputs)
        nodes = []
        for node in reversed(self.nodes):  # without what no output depends on
            if needed.intersection(node.output):
                nodes.append(node)
                needed.update(node.input)
        observation = self._tensors[0]
        graph = helper.make_graph(
            nodes[::-1],
            "network",
            [described(self._names[id(observation)], observation)],
            [described(name, tensor) for name, tensor in outputs.items()],
            [array for array in self.initializers if array.name in needed],
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="ludarium",
        )


# What torch's functions are in ONNX: each writes nodes and returns the name of the result. The
# arguments are those of torch's function; what they do not take is unknown.


def _conv2d(
    w: _Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] | str = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> str:
    if isinstance(padding, str):
        raise UnknownOperationError(f"a convolution has the padding {padding!r}")
    return w.add(
        "Conv",
        *(w.name_of(tensor) for tensor in (x, weight, bias) if tensor is not None),
        kernel_shape=list(weight.shape[2:]),
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
    )


def _linear(w: _Writer, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    if x.ndim != 2 or bias is None:
        raise UnknownOperationError("a linear layer has no bias, or inputs of more than two axes")
    return w.add("Gemm", w.name_of(x), w.name_of(weight), w.name_of(bias), transB=1)


def _batch_norm(
    w: _Writer,
    x: Tensor,
    mean: Tensor | None,
    variance: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> str:
    if training or any(tensor is None for tensor in (mean, variance, weight, bias)):
        raise UnknownOperationError("a normalisation keeps no statistics, or has no weights")
    inputs = (
        w.name_of(tensor) for tensor in (x, weight, bias, mean, variance) if tensor is not None
    )
    return w.add("BatchNormalization", *inputs, epsilon=eps)


def _layer_norm(
    w: _Writer,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> str:
    if weight is None:
        raise UnknownOperationError("a normalisation has no weights")
    inputs = (w.name_of(tensor) for tensor in (x, weight, bias) if tensor is not None)
    return w.add("LayerNormalization", *inputs, axis=-len(normalized_shape), epsilon=eps)


def _unary(operator: str) -> Callable:
    def write(w: _Writer, x: Tensor, inplace: bool = False) -> str:
        return w.add(operator, w.name_of(x))

    return write


def _binary(operator: str) -> Callable:
    def write(w: _Writer, x: Tensor | float, y: Tensor | float) -> str:
        return w.add(operator, w.operand(x), w.operand(y))

    return write


def _reduced(operator: str) -> Callable:
    def write(w: _Writer, x: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> str:
        axes = [dim] if isinstance(dim, int) else list(dim)
        return w.add(operator, w.name_of(x), axes=axes, keepdims=int(keepdim))

    return write


def _softmax(
    w: _Writer, x: Tensor, dim: int, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> str:
    return w.add("Softmax", w.name_of(x), axis=dim)


def _cat(w: _Writer, tensors: Sequence[Tensor], dim: int = 0) -> str:
    return w.add("Concat", *(w.name_of(tensor) for tensor in tensors), axis=dim)


def _flatten(w: _Writer, x: Tensor, start_dim: int = 0, end_dim: int = -1) -> str:
    if end_dim not in (-1, x.ndim - 1) or start_dim not in (0, 1):
        raise UnknownOperationError(f"it flattens the axes {start_dim} to {end_dim}")
    if start_dim == 1:
        return w.add("Flatten", w.name_of(x), axis=1)
    return w.add("Reshape", w.name_of(x), w.constant(np.array([-1])))


def _dropout(
    w: _Writer, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> str:
    if training:
        raise UnknownOperationError("it drops at random")
    return w.name_of(x)


def _getitem(w: _Writer, x: Tensor, index: Any) -> str:
    name, axis, gathered, new = w.name_of(x), 0, 0, []
    parts = index if isinstance(index, tuple) else (index,)
    for number, part in enumerate(parts):
        if part is None:
            new.append(axis)
            axis += 1
            if parts[number + 1 : number + 2] != (None,):  # the last of several in a row
                name, new = w.add("Unsqueeze", name, w.constant(np.array(new))), []
        elif isinstance(part, slice) and part == slice(None):
            axis += 1
        elif isinstance(part, int):
            name = w.add("Gather", name, w.constant(np.array(part)), axis=axis)
        elif isinstance(part, Tensor) and part.dtype == torch.int64 and part.ndim == 1:
            name = w.add("Gather", name, w.name_of(part), axis=axis)
            axis, gathered = axis + 1, gathered + 1
        else:
            raise UnknownOperationError(f"an index is {part!r}")
    if gathered > 1:
        raise UnknownOperationError("it takes several lists of indices at once")
    return name


_OPERATIONS: dict[Callable, Callable] = {
    F.conv2d: _conv2d,
    F.linear: _linear,
    F.batch_norm: _batch_norm,
    F.layer_norm: _layer_norm,
    F.softmax: _softmax,
    F.dropout: _dropout,
    torch.cat: _cat,
    Tensor.flatten: _flatten,
    torch.flatten: _flatten,
    Tensor.__getitem__: _getitem,
    **dict.fromkeys((F.relu, torch.relu, Tensor.relu), _unary("Relu")),
    **dict.fromkeys((torch.tanh, Tensor.tanh), _unary("Tanh")),
    **dict.fromkeys((torch.log, Tensor.log), _unary("Log")),
    **dict.fromkeys((torch.sigmoid, Tensor.sigmoid), _unary("Sigmoid")),
    **dict.fromkeys((torch.add, Tensor.add), _binary("Add")),
    **dict.fromkeys((torch.sub, Tensor.sub), _binary("Sub")),
    **dict.fromkeys((torch.mul, Tensor.mul), _binary("Mul")),
    **dict.fromkeys((torch.mean, Tensor.mean), _reduced("ReduceMean")),
    **dict.fromkeys((torch.amax, Tensor.amax), _reduced("ReduceMax")),
}

#: Attributes of tensors that a network may read, because they are the same for every batch.
_QUESTIONS = {Tensor.dim, Tensor.ndim.__get__}  # type: ignore[attr-defined]


# By torch's exporter.


def require_onnxscript(reason: str) -> None:
    """Check that torch's exporter finds its dependencies.

    Raises:
        ImportError: it does not.
    """
    try:
        import_module("onnxscript")
    except ModuleNotFoundError:
        raise ImportError(
            f'this network needs torch\'s ONNX exporter ({reason}): pip install "ludarium[export]"'
        ) from None


def _torch_model(
    module: nn.Module,
    observation_shape: Sequence[int],
    input_name: str,
    output_names: Sequence[str],
    reason: str,
) -> onnx.ModelProto:
    """The model by torch's exporter; nothing is folded, so that it holds each weight as it is.

    Raises:
        ImportError, ValueError: see `onnx_model`.
    """
    require_onnxscript(reason)
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    try:
        with _quiet():
            program = torch.onnx.export(
                module,
                (torch.zeros(2, *observation_shape),),
                input_names=[input_name],
                output_names=list(output_names),
                dynamic_shapes=({0: torch.export.Dim(_BATCH)},),
                dynamo=True,
                optimize=False,
                verbose=False,
            )
            assert program is not None
            ClearMetadataAndDocStringPass()(program.model)  # traces with paths of this machine
            program.model.metadata_props.clear()
            model: onnx.ModelProto = program.model_proto
    except Exception as error:  # whatever a network of the user's own makes the exporter raise
        raise ValueError(f"torch cannot write this network as ONNX: {str(error)[:200]}") from error
    return model


def _with_weights(model: onnx.ModelProto, weights: Mapping[str, Tensor]) -> onnx.ModelProto:
    """A copy of a model with these weights."""
    import onnx
    from onnx import numpy_helper

    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for initializer in changed.graph.initializer:
        if initializer.name in weights:
            array = weights[initializer.name].detach().numpy()
            initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))
    return changed


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences torch's messages, among them the one that torchvision is not installed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
