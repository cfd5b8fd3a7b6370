"""A run's folder: configuration, log, latest agent, and all that a resumed run needs.

    config.yaml            the configuration, as checked
    agent.safetensors      the latest network, to play and to evaluate with
    ratings.json           those of opponents that the run had to measure by itself
    metrics.jsonl          one line for each iteration
    tensorboard/           the same as curves
    replay/000012.npy      positions of iteration 12, where a run learns from earlier ones too
    state-000012/          everything else after iteration 12

A state is written under another name and renamed when it is complete, so whatever moment a
run is killed at, the folder holds a whole state.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from safetensors.torch import load_file, save_file

from ludarium.configs import TrainingConfig
from ludarium.configs.loading import parse_config

_STATE = "state-"
_PARTIAL = ".partial"


class RunFolder:
    """Reads and writes a run's folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.agent = self.path / "agent.safetensors"
        self.metrics = self.path / "metrics.jsonl"
        self.ratings = self.path / "ratings.json"
        self.tensorboard = self.path / "tensorboard"
        self._config = self.path / "config.yaml"
        self._replay = self.path / "replay"

    def open(self, config: TrainingConfig) -> None:
        """Make the folder for ``config``, or check that it is of the same one.

        Raises:
            ValueError: the folder is of a run with another configuration; the message names
                the keys that differ, and what to do.
        """
        if self._config.is_file():
            known = parse_config(self._config.read_text(encoding="utf-8"), str(self._config))
            differing = _differences(known.model_dump(mode="json"), config.model_dump(mode="json"))
            if differing:
                raise ValueError(
                    f"{self.path} holds a run with another configuration ({', '.join(differing)}); "
                    "give another --folder, or --restart to throw that run away"
                )
            return
        self.path.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
        partial = self._config.with_suffix(_PARTIAL)
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, self._config)

    def clear(self) -> None:
        """Throw the run away; only what a run writes is removed."""
        for item in (self._config, self.agent, self.metrics, self.ratings):
            item.unlink(missing_ok=True)
        for folder in (self.tensorboard, self._replay, *self.path.glob(f"{_STATE}*")):
            shutil.rmtree(folder, ignore_errors=True)

    def save_chunk(self, iteration: int, samples: np.ndarray) -> None:
        """Write the positions of one iteration."""
        self._replay.mkdir(parents=True, exist_ok=True)
        file = self._replay / f"{iteration:06d}.npy"
        partial = file.with_suffix(_PARTIAL)
        with partial.open("wb") as stream:
            np.save(stream, samples, allow_pickle=False)
        os.replace(partial, file)

    def load_chunk(self, iteration: int, dtype: np.dtype) -> np.ndarray:
        """Read the positions of one iteration."""
        stored = np.load(self._replay / f"{iteration:06d}.npy", allow_pickle=False)
        samples = np.zeros(len(stored), dtype)
        samples[...] = stored
        return samples

    def save_state(
        self,
        iteration: int,
        description: dict[str, Any],
        tensors: dict[str, torch.Tensor],
        arrays: list[dict[str, np.ndarray]],
    ) -> None:
        """Write the state after ``iteration``, then remove what it supersedes.

        Args:
            iteration: its number.
            description: whatever JSON holds; ``replay``, if there, lists the iterations whose
                chunks are still needed.
            tensors: of the learner.
            arrays: of the games in progress, for each group of them.
        """
        folder = self.path / f"{_STATE}{iteration:06d}"
        partial = folder.with_name(folder.name + _PARTIAL)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        description = description | {"groups": len(arrays)}
        (partial / "state.json").write_text(json.dumps(description), encoding="utf-8")
        save_file(tensors, partial / "learner.safetensors")
        for group, named in enumerate(arrays):
            np.savez(partial / f"self_play-{group}.npz", allow_pickle=False, **named)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
        for old in self._states():
            if old != folder:
                shutil.rmtree(old)
        wanted = {f"{number:06d}.npy" for number in description.get("replay", [])}
        for file in self._replay.glob("*"):
            if file.name not in wanted:
                file.unlink()

    def load_state(
        self,
    ) -> tuple[dict[str, Any], dict[str, torch.Tensor], list[dict[str, np.ndarray]]] | None:
        """The latest state: description, tensors, arrays of each group; ``None`` if none.

        Raises:
            ValueError: a file of it is missing or damaged; the message names the folder.
        """
        states = self._states()
        if not states:
            return None
        folder = states[-1]
        try:
            description = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            tensors = load_file(folder / "learner.safetensors")
            arrays = []
            for group in range(description["groups"]):
                with np.load(folder / f"self_play-{group}.npz", allow_pickle=False) as file:
                    arrays.append({name: file[name] for name in file.files})
        except Exception as error:  # whatever a damaged file makes the three readers raise
            raise ValueError(
                f"the saved state {folder} is damaged ({error}); start anew with --restart"
            ) from error
        return description, tensors, arrays

    def _states(self) -> list[Path]:
        """Folders of complete states, oldest first."""
        return sorted(
            folder for folder in self.path.glob(f"{_STATE}*") if not folder.name.endswith(_PARTIAL)
        )

    def log(self, metrics: dict[str, Any]) -> None:
        """Append a line to the metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def cut_log(self, iteration: int) -> None:
        """Drop metrics of iterations after ``iteration``, which will be done again."""
        if not self.metrics.is_file():
            return
        lines = []
        for line in self.metrics.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["iteration"] <= iteration:
                    lines.append(line + "\n")
            except (ValueError, KeyError):
                continue  # a line cut short when the run was killed
        self.metrics.write_text("".join(lines), encoding="utf-8")


def _differences(known: dict[str, Any], given: dict[str, Any], prefix: str = "") -> list[str]:
    """Keys whose values differ, as ``section.key: old -> new``."""
    found = []
    for key in known | given:
        old, new = known.get(key), given.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(f"{prefix}{key}: {old!r} there, {new!r} now")
    return found
