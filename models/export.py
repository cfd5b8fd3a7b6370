"""Networks for other programs: ONNX and TorchScript files that say what their numbers mean.

An exported network takes ``observation`` [batch, *shape], for any batch, and answers with the
arrays of `OUTPUTS`. Its file holds a JSON text beside the weights, see `metadata_of`. Every file
is read back and compared with the network before it gets its name.
"""

from __future__ import annotations

import copy
import io
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checkpoint import Checkpoint
from .network import PolicyValueNetwork, expected_value

#: Formats, and how the names of their files end.
FORMATS = {"onnx": ".onnx", "torchscript": ".pt"}

#: The largest difference from the network that a file may have, in any output.
TOLERANCE = 1e-4

INPUT = "observation"

#: What an exported network answers, in this order. Games without points have no ``score``.
OUTPUTS = {
    "policy_logits": "[batch, actions], logits of all actions as seen, legal or not",
    "outcome": "[batch, 3], probabilities of a win, a draw and a loss for the observing player",
    "value": "[batch], probability of a win less that of a loss",
    "score": "[batch], the observing player's expected final lead in points, over max_score",
}

_METADATA_KEY = "ludarium"
_METADATA_FORMAT = 1
_BATCH = 256  # observations that a file is tried on at a time

Arrays = dict[str, np.ndarray]


def metadata_of(checkpoint: Checkpoint, description: Mapping[str, Any]) -> dict[str, Any]:
    """What an exported file says of itself.

    Args:
        checkpoint: the network.
        description: the game's part, from ``ludarium.envs.engine.description.describe_game``.

    Returns:
        ``description``, and: ``format`` of this text, the version of ``ludarium`` that wrote
        it, the network's ``outputs`` with their meaning, its size (``network``), and the
        learner's ``step``.
    """
    outputs = {name: OUTPUTS[name] for name in _outputs(description)}
    return {
        "format": _METADATA_FORMAT,
        "ludarium": version("ludarium"),
        **description,
        "outputs": outputs,
        "network": {"channels": checkpoint.channels, "blocks": checkpoint.blocks},
        "step": checkpoint.step,
    }


def export_checkpoint(
    checkpoint: Checkpoint,
    description: Mapping[str, Any],
    path: str | os.PathLike[str],
    file_format: str,
    observations: np.ndarray,
) -> dict[str, float]:
    """Write a checkpoint's network to a file, once it is found to answer as the network does.

    Args:
        checkpoint: the network, which is not changed.
        description: see `metadata_of`.
        path: of the file; one that is there already is replaced.
        file_format: one of `FORMATS`.
        observations: float32 [N, *shape], what to compare file and network on.

    Returns:
        The greatest absolute difference in each output.

    Raises:
        ValueError: there is no such format, ``path`` does not end as its files do,
            ``description`` is of a game that the network does not fit, or a difference is
            greater than `TOLERANCE`; no file is written.
        ImportError: the format needs packages that are not installed.
    """
    path = Path(path)
    write = _writer(file_format)
    if path.suffix != FORMATS[file_format]:
        raise ValueError(
            f"{path} is no name for a file of format {file_format}: it must end in "
            f"{FORMATS[file_format]}"
        )
    _check_description(checkpoint, description)
    module = _Answers(checkpoint.network, "score" in _outputs(description)).eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial{path.suffix}")
    try:
        write(module, observations.shape[1:], metadata_of(checkpoint, description), partial)
        differences = _differences(module, load_exported(partial), observations)
        worst = max(differences, key=lambda name: differences[name])
        if not differences[worst] <= TOLERANCE:
            raise ValueError(
                f"{path} was not written: its {worst} would differ from the network's by "
                f"{differences[worst]:.2g}, and {TOLERANCE:g} is the most that is accepted"
            )
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return differences


@dataclass(frozen=True)
class ExportedNetwork:
    """A file written by `export_checkpoint`, read back.

    Attributes:
        metadata: see `metadata_of`.
        run: takes float32 [B, *shape] and gives the outputs in their order.
    """

    metadata: dict[str, Any]
    run: Callable[[np.ndarray], list[np.ndarray]]

    def __call__(self, observations: np.ndarray) -> Arrays:
        """The outputs by name, for float32 [B, *shape], B at least 1."""
        return dict(zip(self.metadata["outputs"], self.run(observations), strict=True))


def load_exported(path: str | os.PathLike[str]) -> ExportedNetwork:
    """Read an exported file, to run it on the CPU.

    A TorchScript file holds code: load none from people you do not trust.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the name ends as none of `FORMATS` does, or the file has no metadata.
        ImportError: the format needs packages that are not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no exported network {path}")
    if path.suffix == FORMATS["onnx"]:
        text, run = _load_onnx(path)
    elif path.suffix == FORMATS["torchscript"]:
        text, run = _load_torchscript(path)
    else:
        raise ValueError(f"{path} ends in none of {', '.join(FORMATS.values())}")
    if not text:
        raise ValueError(f"{path} has no metadata of ludarium; write it with `ludarium export`")
    return ExportedNetwork(json.loads(text), run)


class _Answers(nn.Module):
    """A network with the outputs that files have."""

    def __init__(self, network: PolicyValueNetwork, has_score: bool) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)
        self.has_score = has_score

    def forward(self, observation: Tensor) -> tuple[Tensor, ...]:
        output = self.network(observation)
        answers = (output.policy, F.softmax(output.outcome, dim=1), expected_value(output.outcome))
        return (*answers, output.score) if self.has_score else answers


def _outputs(description: Mapping[str, Any]) -> list[str]:
    """Names of the outputs; a game without points does not train the score."""
    return [name for name in OUTPUTS if name != "score" or description["max_score"]]


def _check_description(checkpoint: Checkpoint, description: Mapping[str, Any]) -> None:
    needed = (
        checkpoint.game,
        checkpoint.version,
        list(checkpoint.shape.observation),
        checkpoint.shape.num_actions,
    )
    given = (
        description["game"],
        description["version"],
        description["observation"]["shape"],
        len(description["actions"]["names"]),
    )
    if needed != given:
        raise ValueError(
            "the network does not fit the description of the game: it has (game, version, "
            f"observation, actions) {needed}, the description {given}"
        )


def _writer(file_format: str) -> Callable[..., None]:
    if file_format not in FORMATS:
        raise ValueError(f"format is {file_format!r}; accepted: {', '.join(FORMATS)}")
    return {"onnx": _write_onnx, "torchscript": _write_torchscript}[file_format]


def _differences(module: nn.Module, exported: ExportedNetwork, observations: np.ndarray) -> dict:
    """The greatest absolute difference in each output."""
    greatest = dict.fromkeys(exported.metadata["outputs"], 0.0)
    for start in range(0, len(observations), _BATCH):
        some = observations[start : start + _BATCH]
        with torch.inference_mode():
            expected = module(torch.from_numpy(some))
        for (name, found), answer in zip(exported(some).items(), expected, strict=True):
            # np.maximum, for it keeps a NaN.
            difference = np.abs(found - answer.numpy()).max()
            greatest[name] = float(np.maximum(greatest[name], difference))
    return greatest


# ONNX.


def _require_onnx() -> Any:
    """``onnxruntime``, after a look whether everything that ONNX needs is there."""
    try:
        for package in ("onnx", "onnxscript"):
            import_module(package)
        return import_module("onnxruntime")
    except ModuleNotFoundError as error:
        raise ImportError(
            f'ONNX files need more packages ({error}): pip install "ludarium[export]"'
        ) from error


def _write_onnx(module: nn.Module, shape: tuple[int, ...], metadata: dict, path: Path) -> None:
    _require_onnx()
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    with _quiet():
        program = torch.onnx.export(
            module,
            (torch.zeros(2, *shape),),
            input_names=[INPUT],
            output_names=list(metadata["outputs"]),
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            verbose=False,
        )
    assert program is not None
    ClearMetadataAndDocStringPass()(program.model)  # stack traces with paths of this machine
    program.model.metadata_props.clear()
    program.model.metadata_props[_METADATA_KEY] = json.dumps(metadata)
    program.save(path, external_data=False)


def _load_onnx(path: Path) -> tuple[str, Callable]:
    onnxruntime = _require_onnx()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    text = session.get_modelmeta().custom_metadata_map.get(_METADATA_KEY, "")
    return text, lambda observations: session.run(None, {INPUT: observations})


# TorchScript.


def _write_torchscript(
    module: nn.Module, shape: tuple[int, ...], metadata: dict, path: Path
) -> None:
    with _quiet(), torch.no_grad():
        traced = torch.jit.trace(module, torch.zeros(2, *shape), check_trace=False)
        buffer = io.BytesIO()  # for an archive is named after its file
        torch.jit.save(traced, buffer, _extra_files={_METADATA_KEY: json.dumps(metadata)})
    path.write_bytes(buffer.getvalue())


def _load_torchscript(path: Path) -> tuple[str, Callable]:
    extra = {_METADATA_KEY: ""}
    with _quiet():
        module = torch.jit.load(path, map_location="cpu", _extra_files=extra)

    def run(observations: np.ndarray) -> list[np.ndarray]:
        with torch.inference_mode():
            return [answer.numpy() for answer in module(torch.from_numpy(observations))]

    text = extra[_METADATA_KEY]
    return text.decode() if isinstance(text, bytes) else text, run


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch from warning that TorchScript is deprecated and torchvision not installed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
