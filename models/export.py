"""Export: ONNX files that also describe their inputs and outputs, for other programs.

An exported network takes ``observation`` [batch, *shape], for any batch size, and returns the
arrays of `MEANINGS`. Both are in the canonical frame, as in an environment with ``canonical=True``.
A JSON text in the file describes it, see `metadata_of`. Every file is read back and compared with
the network before it is put in place.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.base.messages import named, needing, quoted
from ludarium.base.storage import replacing

with needing("export"):
    import torch
    from torch import nn

from .backends import evaluation_of
from .checkpoint import Checkpoint
from .evaluation import Evaluation, in_canonical_frame
from .network import BoardNetwork, InferenceModule, VectorNetwork, layers_of
from .onnx_graph import INPUT, OUTPUTS, onnx_by_torch, onnx_of

#: Suffix of the files.
SUFFIX = ".onnx"

#: Largest accepted difference between the file's outputs and the network's.
TOLERANCE = 1e-4

#: The outputs of an exported network, in order. A network or a game without points has no
#: ``score``.
MEANINGS = {
    "policy_logits": "[batch, actions], logits of all actions, legal or not",
    "outcome": "[batch, 3], probabilities of a win, a draw and a loss for the observing player",
    "value": "[batch], probability of a win less that of a loss",
    "score": "[batch], the observing player's expected final lead in points, over max_score",
}

_METADATA_KEY = "ludarium"
_METADATA_FORMAT = 2
_MOST_BYTES = 1 << 30
_BATCH = 256  # batch size of the comparison

Arrays = dict[str, np.ndarray]


def metadata_of(
    checkpoint: Checkpoint, description: Mapping[str, Any], outputs: Sequence[str]
) -> dict[str, Any]:
    """The metadata of an exported file.

    Args:
        checkpoint: the network.
        description: the game's part, from ``ludarium.envs.engine.description.describe_game``.
        outputs: names of the file's outputs, among `MEANINGS`.

    Returns:
        ``description``, and: ``format`` of this text, the version of ``ludarium`` that wrote
        it, the network's ``outputs`` with their meaning, its size or its class and options
        (``network``), and the learner's ``step``.
    """
    return {
        "format": _METADATA_FORMAT,
        "ludarium": version("ludarium"),
        **description,
        "outputs": {name: MEANINGS[name] for name in outputs},
        "network": checkpoint.architecture.described(),
        "step": checkpoint.step,
    }


def export_checkpoint(
    checkpoint: Checkpoint,
    description: Mapping[str, Any],
    path: str | os.PathLike[str],
    observations: np.ndarray,
) -> dict[str, float]:
    """Export a checkpoint's network, and compare the file with the network first.

    Args:
        checkpoint: the network, which is not changed.
        description: see `metadata_of`; its game is one that the network fits.
        path: path of the file; an existing file is replaced.
        observations: float32 [N, *shape], on which file and network are compared.

    Returns:
        The greatest absolute difference in each output.

    Raises:
        ValueError: ``path`` does not end in `SUFFIX` or is not UTF-8, torch cannot write a custom
            network, or a difference is greater than `TOLERANCE`; an existing file stays.
        OSError: the file cannot be written.
        ImportError: packages are missing.
    """
    path = Path(path)
    _check_name(path)
    network = copy.deepcopy(checkpoint.network).cpu()
    module = InferenceModule(network, has_score=bool(description["max_score"])).eval()
    with replacing(path) as partial:
        _write(module, checkpoint, description, partial)
        differences = _differences(module, load_exported(partial), observations)
        worst = max(differences, key=lambda name: differences[name])
        if not differences[worst] <= TOLERANCE:
            raise ValueError(
                f"{named(path)} was not written: its {worst} would differ from the network's by "
                f"{differences[worst]:.2g}, and at most {TOLERANCE:g} is accepted"
            )
    return differences


@dataclass(frozen=True)
class ExportedNetwork:
    """A file written by `export_checkpoint`, read back.

    Attributes:
        metadata: see `metadata_of`.
        run: function that takes float32 [B, *shape] and returns the outputs in order.
    """

    metadata: dict[str, Any]
    run: Callable[[np.ndarray], list[np.ndarray]]

    def __call__(self, observations: np.ndarray) -> Arrays:
        """The outputs by name, for float32 [B, *shape], B at least 1."""
        return dict(zip(self.metadata["outputs"], self.run(observations), strict=True))

    @in_canonical_frame
    def evaluate(self, observations: np.ndarray) -> Evaluation:
        """The outputs as an `Evaluation`, which searches take, for float32 [B, *shape]."""
        return evaluation_of(self.run(np.ascontiguousarray(observations)))


def _check_name(path: Path) -> None:
    if path.suffix != SUFFIX:
        raise ValueError(f"{named(path)} is not a name for an ONNX file: it must end in {SUFFIX}")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{named(path)} is not a name for an ONNX file: it must be UTF-8, for ONNX Runtime"
        ) from None


def load_exported(path: str | os.PathLike[str]) -> ExportedNetwork:
    """Read an exported file, to run it on the CPU.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the name does not end in `SUFFIX` or is not UTF-8; or the file is larger than
            1 GiB, not a regular file, damaged, of another format, or without metadata.
        ImportError: packages are missing.
    """
    path = Path(path)
    _check_name(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no exported network {named(path)}")
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{named(path)} is not a regular file of at most {_MOST_BYTES:,} bytes")
    onnxruntime = _require_onnx()
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        text = session.get_modelmeta().custom_metadata_map.get(_METADATA_KEY, "")
        metadata = json.loads(text) if text else None
    except Exception as error:  # ONNX Runtime's errors have no common class
        reason = quoted(str(error), 200)
        raise ValueError(f"{named(path)} is not a readable ONNX file: {reason}") from error
    if not isinstance(metadata, dict) or not isinstance(metadata.get("outputs"), dict):
        raise ValueError(
            f"{named(path)} has no metadata of ludarium; write it with `ludarium export`"
        )
    if metadata.get("format") != _METADATA_FORMAT:
        raise ValueError(
            f"{named(path)} is of format {quoted(metadata.get('format'))}, not {_METADATA_FORMAT}: "
            "export its network again"
        )

    def run(observations: np.ndarray) -> list[np.ndarray]:
        return session.run(None, {INPUT: observations})

    return ExportedNetwork(metadata, run)


def _differences(module: nn.Module, exported: ExportedNetwork, observations: np.ndarray) -> dict:
    """The greatest absolute difference in each output."""
    greatest = dict.fromkeys(exported.metadata["outputs"], 0.0)
    for start in range(0, len(observations), _BATCH):
        some = observations[start : start + _BATCH]
        with torch.inference_mode():
            expected = module(torch.from_numpy(some))
        for (name, found), answer in zip(exported(some).items(), expected, strict=True):
            # np.maximum keeps a NaN.
            difference = np.abs(found - answer.numpy()).max()
            greatest[name] = float(np.maximum(greatest[name], difference))
    return greatest


def _require_onnx() -> Any:
    """Import ``onnxruntime``, and check that ``onnx`` is installed too."""
    # Set this before the import: else ONNX Runtime keeps an id of this device and reports its use.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with needing("export"):
        import_module("onnx")
        return import_module("onnxruntime")


def _write(
    module: InferenceModule, checkpoint: Checkpoint, description: Mapping[str, Any], path: Path
) -> None:
    _require_onnx()
    import onnx

    network, shape = checkpoint.network, checkpoint.shape.observation
    if isinstance(network, BoardNetwork | VectorNetwork):
        model = onnx_of(layers_of(network), module.has_score)
    else:
        with torch.inference_mode():
            outputs = module(torch.zeros(1, *shape))
        model = onnx_by_torch(module, shape, OUTPUTS[: len(outputs)])
    metadata = metadata_of(checkpoint, description, [output.name for output in model.graph.output])
    onnx.helper.set_model_props(model, {_METADATA_KEY: json.dumps(metadata)})
    onnx.save(model, path)
