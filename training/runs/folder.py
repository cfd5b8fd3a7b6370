"""A run's folder: configuration, log, latest agent, and everything that a resumed run needs.

    config.yaml            the configuration, validated
    agent.safetensors      the latest network, to play and to evaluate with
    ratings.json           ratings of opponents that the run had to measure itself
    metrics.jsonl          one line per iteration
    tensorboard/           the same metrics as curves
    replay/000012.npy      the replay chunk of iteration 12: the positions that it added (not PPO)
    state-000012/          everything else after iteration 12, and a manifest
    lock                   held by the process that writes here

The manifest of a state has the size and SHA-256 of every file that belongs to it, including those
outside its folder: configuration, agent, ratings and replay chunks. A run never resumes from a file
that fails this check. A state is written under a temporary name and renamed once it is on the disk,
and the previous state is kept. So the folder holds a complete state whenever the run is killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import yaml

from ludarium.configs import TrainingConfig
from ludarium.configs.loading import parse_config
from ludarium.envs.engine.messages import shortened

from .files import (
    PARTIAL,
    DamagedError,
    Digest,
    StorageError,
    check_digest,
    make_folders,
    read_file,
    read_verified,
    remove_file,
    remove_folder,
    write_file,
    write_folder,
)
from .lock import FolderLock
from .log import MetricsLog, decode_line, encode_line
from .state import (
    State,
    array_bytes,
    arrays_bytes,
    read_arrays,
    read_json,
    read_tensors,
    tensors_bytes,
)

_STATE = "state-"
_KEPT_STATES = 2
_FORMAT = 1
_NOT_COMPARED = "cluster"  # section of a configuration that says who computes, and not what
_LARGEST_MANIFEST = 1 << 26  # bytes
_LARGEST_FILE = 1 << 33  # bytes of any other file


@dataclass(frozen=True)
class SavedRun:
    """A run as its folder holds it.

    Attributes:
        iteration: iterations done.
        state: what goes on from there.
        loop: what the loop itself has to know.
        metrics: of the latest iteration.
        was_logged: whether the log had the line of that iteration.
        has_agent: whether ``agent.safetensors`` is the agent of that iteration; otherwise it is
            to be written again.
    """

    iteration: int
    state: State
    loop: dict[str, Any]
    metrics: dict[str, Any]
    was_logged: bool
    has_agent: bool


class RunFolder:
    """Reads and writes a run's folder; only one process at a time may do so.

    Args:
        path: of the folder; `open` makes it if needed.
        restart: delete the run that the folder holds.
        salvage: resume without the positions of replay files that are damaged or missing.
    """

    def __init__(
        self, path: str | os.PathLike[str], restart: bool = False, salvage: bool = False
    ) -> None:
        self.path = Path(path)
        self.agent = self.path / "agent.safetensors"
        self.metrics = self.path / "metrics.jsonl"
        self.ratings = self.path / "ratings.json"
        self.tensorboard = self.path / "tensorboard"
        self._config = self.path / "config.yaml"
        self._replay = self.path / "replay"
        self._lock = FolderLock(self.path / "lock")
        self._log = MetricsLog(self.metrics)
        self._restart = restart
        self._salvage = salvage
        self._made: list[Path] = []  # folders that `open` had to make
        self._chunks: dict[int, Digest] = {}

    # Beginning and end.

    def open(
        self, config: TrainingConfig, say: Callable[[str], None] = lambda _: None
    ) -> SavedRun | None:
        """Open the folder for a run of ``config``: a new run, or the one that the folder holds.

        Resumes from the latest complete state. Calls ``say`` with one line for each damaged or
        missing file.

        Returns:
            The saved run; None for a new run.

        Raises:
            ValueError: another process writes there, the folder is of a run with another
                configuration, or it has no complete state; the message says what to do.
            StorageError: the folder cannot be written.
        """
        made = make_folders(self.path)
        try:
            self._lock.acquire()
            self._made = made
            if self._restart:
                self._clear()
            self._remove_partial()
            content = yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False).encode()
            if self._states():
                return self._resume(content, config, say)
            self._begin(content, config)
        except BaseException:
            self.close()
            raise
        return None

    def close(self) -> None:
        """Release the folder; remove it if it is new and nothing was saved in it."""
        made, self._made = self._made, []
        try:
            if made and not self._states():
                with suppress(StorageError):  # of a folder that cannot be written files are left
                    self._clear()
                    remove_file(self._lock.path)
        finally:
            self._lock.release()
        for folder in made:
            if any(folder.iterdir()):
                break
            folder.rmdir()

    def _clear(self) -> None:
        """Throw the run away; only what a run writes is removed."""
        files = (self._config, self.agent, self.metrics, self._log.damaged, self.ratings)
        for item in files:
            remove_file(item)
        for folder in (self.tensorboard, self._replay, *self.path.glob(f"{_STATE}*")):
            remove_folder(folder)
        self._remove_partial()

    def _remove_partial(self) -> None:
        """Remove half-written files that a killed process has left."""
        for folder in (self.path, self._replay):
            for item in folder.glob(f"*{PARTIAL}"):
                if item.is_dir():
                    remove_folder(item)
                else:
                    remove_file(item)

    def _begin(self, content: bytes, config: TrainingConfig) -> None:
        """Set the folder up for a new run."""
        for item in (self.agent, self.metrics):
            if item.exists():
                raise ValueError(
                    f"{self.path} has {item.name}, but no saved state of its run; put the state "
                    "back, give another --folder, or --restart to throw that run away"
                )
        # Of a run that was killed in its first iteration: they come again.
        remove_file(self.ratings)
        remove_folder(self._replay)
        if self._config.exists():
            self._check_config(read_file(self._config, _LARGEST_MANIFEST), config)
        else:
            write_file(self._config, content)

    # Resuming.

    def _resume(
        self, content: bytes, config: TrainingConfig, say: Callable[[str], None]
    ) -> SavedRun:
        """Load the latest undamaged state."""
        faults: list[str] = []
        for number in reversed(self._states()):
            try:
                manifest = self._read_manifest(number)
                self._resume_config(manifest, content, config, say)
                state = self._read_state(number, manifest, say)
                break
            except DamagedError as fault:
                faults.append(str(fault))
        else:
            raise ValueError(self._no_state(faults))
        for damage in faults:
            say(f"{damage}; going on after iteration {number} instead, nothing is lost but time")
        line = state.description["metrics"]
        was_logged, log_fault = self._log.resume(number, line)
        if log_fault is not None:
            say(f"{log_fault}; the run goes on all the same")
        self._check_ratings(manifest, say)
        has_agent = self._check_agent(number, manifest, bool(faults), say)
        if not faults:  # keep a damaged state until it is written again: it may be repairable
            self._prune(number, [iteration for iteration, _ in state.replay])
        return SavedRun(
            number,
            replace(state, description=state.description["algorithm"]),
            state.description["loop"],
            decode_line(line.encode()) or {},
            was_logged,
            has_agent,
        )

    def _no_state(self, faults: list[str]) -> str:
        """One-line error: why the run cannot be resumed, and what the user can do."""
        remedy = "put back what is missing"
        if any(str(self._replay) in fault for fault in faults):
            remedy += ", go on without these positions (--salvage)"
        return (
            f"no saved state of {self.path} is whole: {'; '.join(dict.fromkeys(faults))}; "
            f"{remedy}, or start anew (--restart)"
        )

    def _states(self) -> list[int]:
        """Iterations of the states in the folder, ascending."""
        numbers = (folder.name.removeprefix(_STATE) for folder in self.path.glob(f"{_STATE}*"))
        return sorted(int(number) for number in numbers if number.isascii() and number.isdecimal())

    def _state(self, number: int) -> Path:
        return self.path / f"{_STATE}{number:06d}"

    def _chunk(self, number: int) -> Path:
        return self._replay / f"{number:06d}.npy"

    def _read_manifest(self, number: int) -> dict[str, Digest]:
        """Digests of the files of a state, by their names."""
        path = self._state(number) / "manifest.json"
        try:
            data = read_json(read_file(path, _LARGEST_MANIFEST))
            check = data.pop("sha256")
            if check != _manifest_sum(data):
                raise DamagedError(f"{path} is damaged (its SHA-256 is not its own)")
            if data["format"] != _FORMAT:
                raise DamagedError(f"{path} is of another version of this program")
            files = {name: Digest(*digest) for name, digest in data["files"].items()}
            for name, digest in files.items():
                if type(digest.size) is not int or digest.size > _LARGEST_FILE:
                    raise DamagedError(f"{path} is damaged (the size that it has of {name})")
            return files
        except DamagedError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"{path} is damaged ({shortened(str(error))})") from None

    def _read_state(
        self, number: int, manifest: dict[str, Digest], say: Callable[[str], None]
    ) -> State:
        """The state after iteration ``number``; its chunks are checked, and not read yet."""
        folder = self._state(number)
        parsed: list[Any] = []  # in the order of `_PARTS`
        for name, parse in _PARTS.items():
            content = read_verified(folder / name, _digest(manifest, name, folder))
            try:
                parsed.append(parse(content))
            except (ValueError, KeyError, TypeError) as error:
                raise DamagedError(
                    f"{folder / name} is damaged ({shortened(str(error))})"
                ) from None
        description, tensors, arrays = parsed
        if not _is_whole(description, number):
            raise DamagedError(f"{folder / 'state.json'} is damaged (it is not of this state)")
        replay, self._chunks = [], {}
        for iteration, count in description["replay"]:
            path = self._chunk(iteration)
            digest = _digest(manifest, f"replay/{path.name}", folder)
            try:
                check_digest(path, digest)
            except DamagedError as fault:
                if not self._salvage:
                    raise
                say(f"{fault}; going on without its positions")
                continue
            self._chunks[iteration] = digest
            replay.append((iteration, count))
        return State(description, tensors, arrays, replay=replay)

    def chunk(self, iteration: int) -> np.ndarray:
        """The positions of one iteration, structured [N]; they stay on the disk until used."""
        return np.load(self._chunk(iteration), mmap_mode="r", allow_pickle=False)

    def _resume_config(
        self,
        manifest: dict[str, Digest],
        content: bytes,
        config: TrainingConfig,
        say: Callable[[str], None],
    ) -> None:
        """Refuse another configuration than the run's; mend its file where it is this one."""
        expected = _digest(manifest, self._config.name, self.path)
        try:
            found = read_verified(self._config, expected)
        except DamagedError as fault:
            if Digest.of(content) != expected:
                raise ValueError(
                    f"{fault}, and the configuration given is another one; give the run's own, or "
                    "--restart to throw the run away"
                ) from None
            write_file(self._config, content)
            say(f"{fault}; written again, as it is the configuration given")
        else:
            self._check_config(found, config)

    def _check_config(self, content: bytes, config: TrainingConfig) -> None:
        """Refuse a configuration other than the folder's."""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"{self._config} is damaged (no text); --restart throws the run away"
            ) from None
        known = parse_config(text, str(self._config))
        there, now = (
            {k: v for k, v in msgspec.to_builtins(each).items() if k != _NOT_COMPARED}
            for each in (known, config)
        )
        differing = _differences(there, now)
        if differing:
            raise ValueError(
                f"{self.path} holds a run with another configuration ({', '.join(differing)}); "
                "give another --folder, or --restart to throw that run away"
            )

    def _check_ratings(self, manifest: dict[str, Digest], say: Callable[[str], None]) -> None:
        """Remove damaged ratings, so that the opponents are rated again."""
        expected = manifest.get(self.ratings.name)
        if expected is None:
            return
        try:
            check_digest(self.ratings, expected)
        except DamagedError as fault:
            remove_file(self.ratings)
            say(f"{fault}; the opponents are rated again")

    def _check_agent(
        self,
        number: int,
        manifest: dict[str, Digest],
        is_older: bool,
        say: Callable[[str], None],
    ) -> bool:
        """Whether the agent is that of the state, and not that of another one."""
        try:
            check_digest(self.agent, _digest(manifest, self.agent.name, self.path))
        except DamagedError as fault:
            if not is_older and not self._is_agent_before(number):
                say(f"{fault}; written again")
            return False
        return True

    def _is_agent_before(self, number: int) -> bool:
        """Whether the agent is that of the previous state: the run was killed before writing it."""
        earlier = [other for other in self._states() if other < number]
        if not earlier:
            return not self.agent.exists()
        try:
            manifest = self._read_manifest(earlier[-1])
            check_digest(self.agent, _digest(manifest, self.agent.name, self.path))
        except DamagedError:
            return False
        return True

    # Writing.

    def save(
        self,
        iteration: int,
        state: State,
        loop: dict[str, Any],
        metrics: dict[str, Any],
        agent: bytes,
    ) -> None:
        """Write the state after ``iteration``; keep the state before it and delete older ones.

        Args:
            iteration: its number, from 1.
            state: what a resumed run needs.
            loop: what `Trainer` itself needs, as JSON values.
            metrics: of this iteration; call `log` with them next.
            agent: content of the checkpoint.

        Raises:
            StorageError: something cannot be written; the state before is whole.
        """
        if state.chunk is not None:
            make_folders(self._replay)
            path = self._chunk(iteration)
            self._chunks[iteration] = write_file(path, array_bytes(state.chunk))
        description = {
            "loop": loop,
            "algorithm": state.description,
            "replay": state.replay,
            "metrics": encode_line(metrics),
        }
        contents = {
            "state.json": json.dumps(description).encode(),
            "learner.safetensors": tensors_bytes(state.tensors),
            "self_play.npz": arrays_bytes(state.arrays),
        }
        files = {name: Digest.of(content) for name, content in contents.items()}
        files |= {f"replay/{number:06d}.npy": self._chunks[number] for number, _ in state.replay}
        files[self.agent.name] = Digest.of(agent)
        files |= {
            path.name: Digest.of(read_file(path, _LARGEST_FILE))
            for path in (self._config, self.ratings)
            if path.exists()
        }
        data = {"format": _FORMAT, "files": files}
        contents["manifest.json"] = json.dumps(data | {"sha256": _manifest_sum(data)}).encode()
        write_folder(self._state(iteration), contents)
        self.write_agent(agent)
        self._prune(iteration, [number for number, _ in state.replay])

    def write_agent(self, content: bytes) -> None:
        """Replace the agent's checkpoint file."""
        write_file(self.agent, content)

    def log(self, metrics: dict[str, Any]) -> None:
        """Append the metrics of the latest state to the log."""
        self._log.append(encode_line(metrics))

    def _prune(self, iteration: int, replay: list[int]) -> None:
        """Delete all states but the last two, and replay files that neither of them needs."""
        numbers = [number for number in self._states() if number <= iteration]
        kept = numbers[-_KEPT_STATES:]
        for number in self._states():
            if number not in kept:
                remove_folder(self._state(number))
        needed = {self._chunk(number).name for number in replay}
        for number in kept[:-1]:
            try:
                needed |= {Path(name).name for name in self._read_manifest(number)}
            except DamagedError:
                continue
        for file in self._replay.glob("*"):
            if file.name not in needed:
                remove_file(file)
        for number in set(self._chunks) - set(replay):
            del self._chunks[number]


#: The reader of each file of a state, in the order of the fields of `State`.
_PARTS: dict[str, Callable[[bytes], Any]] = {
    "state.json": read_json,
    "learner.safetensors": read_tensors,
    "self_play.npz": read_arrays,
}


def _is_whole(description: dict[str, Any], iteration: int) -> bool:
    """Whether a state's description has all required entries."""
    line, replay = description.get("metrics"), description.get("replay")
    metrics = decode_line(line.encode()) if isinstance(line, str) else None
    return (
        metrics is not None
        and metrics["iteration"] == iteration
        and isinstance(description.get("loop"), dict)
        and isinstance(description.get("algorithm"), dict)
        and isinstance(replay, list)
        and all(
            isinstance(entry, list) and [type(number) for number in entry] == [int, int]
            for entry in replay
        )
    )


def _digest(manifest: dict[str, Digest], name: str, where: Path) -> Digest:
    """The digest of a file, which the manifest should have."""
    if name not in manifest:
        raise DamagedError(f"{where} is damaged (its manifest has no {name})")
    return manifest[name]


def _manifest_sum(data: dict[str, Any]) -> str:
    """The checksum of a manifest."""
    return Digest.of(json.dumps(data, sort_keys=True).encode()).sha256


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
