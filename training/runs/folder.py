"""A run's folder: configuration, log, latest agent, and everything that a resumed run needs.

    config.yaml            the configuration, validated
    agent.safetensors      the latest network, to play and to evaluate with
    metrics.jsonl          one line per iteration
    tensorboard/           the same metrics as curves
    agents/000012.safetensors   the agent after iteration 12, of those that are kept
    replay/000012.npy      the replay chunk of iteration 12: the positions that it added (not PPO)
    state-000012.zip       everything else after iteration 12
    state-000000.zip       the first state of a new run, and replay/000000.npy, until they have
                           the place of an old run
    curve.jsonl            measurements of the agents by `ludarium curve`
    lock                   held by the process that writes here

A run resumes from its latest whole state and that state's replay chunks, and from nothing else: the
state holds the SHA-256 of itself and of these chunks, and the configuration. States and chunks are
written under a temporary name and renamed once they are on the disk, and the previous state is
kept. So from the first state on the folder holds a whole one whenever the run is killed.
Configuration, log and latest agent follow from the state: a resumed run writes them again.

A new run's first state gets the number 0, beside whatever the folder holds. Once it is on the disk
the old run is deleted, and 0 becomes 1. A kill before leaves the old run, a kill after leaves the
new one, and `RunFolder.open` or the next `RunFolder.save` deletes what is left of the old one.

No file is written through a link, and only files with the names above are removed.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ludarium.base.durable import (
    PARTIAL,
    DamagedError,
    StorageError,
    append,
    make_folders,
    move_file,
    remove_file,
    write_file,
)
from ludarium.base.files import read_regular_file, sha256_of
from ludarium.base.lock import WriterLock
from ludarium.base.messages import quoted, shortened
from ludarium.base.numbers import checked_flag
from ludarium.base.progress import SILENT, Progress
from ludarium.configs import TrainingConfig
from ludarium.configs.loading import parse_config, write_yaml
from ludarium.configs.schema import SaveConfig

from .state import State, array_bytes, pack_state, unpack_state

_FIRST = 0  # number of the first state of a new run, until it has its place
_KEPT_STATES = 2
_FORMAT = 5
_NOT_COMPARED = ("cluster", "save")  # sections that change no result
_LARGEST_FILE = 1 << 33  # bytes
_SYSTEMS = "lost+found"  # a folder that file systems create

_PARTIAL = f"({re.escape(PARTIAL)})?"
_STATE = re.compile(rf"state-(?P<number>\d{{6,}})\.zip{_PARTIAL}")
_CHUNK = re.compile(rf"(?P<number>\d{{6,}})\.npy{_PARTIAL}")
_PAST_AGENT = re.compile(rf"(?P<number>\d{{6,}})\.safetensors{_PARTIAL}")
_CURVES = re.compile(r"events\.out\.tfevents\..*")


@dataclass(frozen=True)
class SavedRun:
    """The saved run of a folder.

    Attributes:
        iteration: iterations done.
        state: the state to continue from.
        loop: the trainer's own data, as JSON values.
        metrics: metrics of the latest iteration.
    """

    iteration: int
    state: State
    loop: dict[str, Any]
    metrics: dict[str, Any]


class RunFolder:
    """Reads and writes a run's folder; only one process at a time may write.

    A run calls `open`, then `save` after each iteration, and `close` at its end.

    Args:
        path: path of the folder; `open` makes it if needed.
        restart: begin a new run; the one that the folder holds is deleted when the new one's
            first state is saved.

    Attributes:
        path, agent, metrics, tensorboard, curve: paths of the folder, and of the latest agent, the
            log, TensorBoard's curves and the measurements in it.

    Raises:
        ValueError: the path is empty or none, or ``restart`` is not a flag.
    """

    def __init__(self, path: str | os.PathLike[str], restart: bool = False) -> None:
        if not (isinstance(path, str | os.PathLike) and os.fspath(path)):
            raise ValueError(f"folder is {quoted(path)}; accepted: the path of a folder")
        self.path = Path(path)
        self.agent = self.path / "agent.safetensors"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.curve = self.path / "curve.jsonl"
        self._config = self.path / "config.yaml"
        self._replay = self.path / "replay"
        self._agents = self.path / "agents"
        self._lock = WriterLock(self.path / "lock")
        self._restart = checked_flag("restart", restart)
        self._made: list[Path] = []  # folders that `open` had to make
        self._chunks: dict[int, str] = {}  # SHA-256 of each chunk of the latest state
        self._iteration = 0  # iteration of the latest state
        self._wanted: TrainingConfig  # the configuration, once the folder is open

    # Opening: a new run, or the one that the folder holds.

    def open(self, config: TrainingConfig, progress: Progress = SILENT) -> SavedRun | None:
        """Open the folder for a run of ``config``: a new run, or the one that the folder holds.

        A run resumes from the latest whole state. ``progress`` says a line for each damaged or
        missing file.

        Returns:
            The saved run; None for a new run.

        Raises:
            ValueError: another process writes there, the folder holds a run with another
                configuration, it has no whole state, or it holds files that no run wrote; the
                message says what to do.
            StorageError: the folder cannot be written.
        """
        made, self._wanted = make_folders(self.path), config
        try:
            if not self._states():
                self._check_free()
            self._lock.acquire()
            self._made = made
            self._take_place()  # a kill may have come before
            return None if self._restart or not self._states() else self._resume(progress)
        except BaseException:
            self.close()
            raise

    def begun(self) -> TrainingConfig | None:
        """The configuration of the run that `open` would resume; None if it would begin a new one.

        Raises:
            ValueError: there are states, and none can be read; or the latest readable one has a
                configuration that is not accepted.
        """
        if self._restart or not self._states():
            return None
        return self._config_in(*self._latest([], with_replay=False))

    def _check_free(self) -> None:
        """Refuse a new run in a folder with other files than a run leaves before its first state.

        ``restart`` is no exception: no state proves that this is a run.
        """
        left = {self._lock.path, self.path / _SYSTEMS, *_files_in(self.path, _STATE)}
        for folder, pattern in ((self._replay, _CHUNK), (self._agents, _PAST_AGENT)):
            if set(folder.glob("*")) <= set(_files_in(folder, pattern)):
                left.add(folder)
        others = sorted(item.name for item in self.path.iterdir() if item not in left)
        if others:
            raise ValueError(
                f"{self.path} holds {shortened(', '.join(others), 200)}, and no saved state of a "
                "run: give another folder, or move away what is there"
            )

    def _resume(self, progress: Progress) -> SavedRun:
        """Load the latest whole state, and write configuration and log to match it."""
        # 1. The latest state that is whole; its run has this configuration.
        faults: list[str] = []
        state, number = self._latest(faults)
        config = self._config_in(state, number)
        differing = differences(compared(config), compared(self._wanted))
        if differing:
            raise ValueError(
                f"{self.path} holds a run with another configuration ({', '.join(differing)}); "
                f"go on with its own configuration, {self._config}, give another folder, or "
                "restart=True to throw that run away"
            )
        # 2. Tell of later states that are damaged or missing.
        logged = _lines_of(self.metrics.read_bytes() if self.metrics.is_file() else b"")
        if not faults and {number, number + 1} <= logged.keys():
            faults.append(f"{self._state(number + 1)} is missing")
        for damage in faults:
            progress.say(
                f"{damage}; going on after iteration {number} instead, nothing is lost but time"
            )
        # 3. Configuration and log as they were then; later lines will be written again. The log is
        #    a new file, because appending would also change hard-linked copies.
        saved = state.description
        write_file(self._config, text_of(self._wanted))
        lines = [line for iteration, line in logged.items() if iteration < number]
        lines.append(_line(saved["metrics"]))
        if len(lines) < number:
            progress.say(f"{self.metrics} is damaged; {len(lines)} of its {number} lines stay")
        write_file(self.metrics, b"".join(lines))
        # 4. Go on from there. Damaged states stay until written again: they may be repairable.
        self._iteration = number
        self._chunks = {iteration: digest for iteration, _, digest in saved["replay"]}
        if not faults:
            self._prune(saved["first_chunk"])
        replay = [(iteration, count) for iteration, count, _ in saved["replay"]]
        state = replace(state, description=saved["algorithm"], replay=replay)
        return SavedRun(number, state, saved["loop"], saved["metrics"])

    def _latest(self, faults: list[str], with_replay: bool = True) -> tuple[State, int]:
        """The latest state that is whole, and its number.

        The faults of later ones are added to ``faults``. Without ``with_replay`` the files of the
        replay are not read, and need not be whole.

        Raises:
            ValueError: none is whole; the message names the faults of all.
        """
        for number in reversed(self._states()):
            try:
                state = self._unpacked(number)
                for iteration, _, digest in state.description["replay"] if with_replay else ():
                    chunk = self._chunk(iteration)
                    if sha256_of(_read(chunk)) != digest:
                        raise DamagedError(
                            f"{chunk} is damaged (its content does not match its SHA-256)"
                        )
                return state, number
            except DamagedError as error:
                faults.append(str(error))
        raise ValueError(
            f"no saved state of {self.path} is whole: {'; '.join(dict.fromkeys(faults))}; put "
            "back what is missing, take the version of ludarium that wrote it, or set restart=True"
        )

    def _unpacked(self, number: int) -> State:
        """The content of the file of the state after iteration ``number``."""
        path = self._state(number)
        content = _read(path)
        try:
            state = unpack_state(content)
            saved = state.description
            if saved["format"] != _FORMAT:
                raise ValueError(
                    f"another version of ludarium wrote it, in format {saved['format']}; this one "
                    f"reads format {_FORMAT}"
                )
            if saved["iteration"] != (1 if number == _FIRST else number):
                raise ValueError("it is of another iteration")
        except (ValueError, LookupError, zipfile.BadZipFile) as error:
            raise DamagedError(f"{path} is damaged ({shortened(str(error))})") from None
        return state

    def _config_in(self, state: State, number: int) -> TrainingConfig:
        """The configuration of the run in the state after iteration ``number``."""
        return parse_config(json.dumps(state.description["config"]), str(self._state(number)))

    # Saving.

    def save(
        self,
        iteration: int,
        state: State,
        loop: dict[str, Any],
        metrics: dict[str, Any],
        agent: bytes,
    ) -> None:
        """Write the state after ``iteration``, then the agent and the log.

        The previous state is kept; older ones are deleted, as are past agents that
        `kept_agents` leaves out. The first state replaces the run that the folder holds.

        Args:
            iteration: the iteration's number, from 1.
            state: what a resumed run needs.
            loop: data of `Trainer` itself, as JSON values.
            metrics: metrics of this iteration, for the log.
            agent: content of the agent's checkpoint.

        Raises:
            StorageError: something cannot be written, or the folder was moved; the previous state
                is whole.
        """
        self._lock.check()
        number = _FIRST if iteration == 1 else iteration
        # 1. The replay's new chunk, and then the state, which holds the digests of all its chunks.
        if state.chunk is not None:
            make_folders(self._replay)
            content = array_bytes(state.chunk)
            write_file(self._chunk(number), content)
            self._chunks[iteration] = sha256_of(content)
        # The previous state may need the chunks from this one on; without a replay there are none.
        first_chunk = min(self._chunks, default=iteration + 1)
        self._chunks = {chunk: self._chunks[chunk] for chunk, _ in state.replay}
        description = {
            "format": _FORMAT,
            "iteration": iteration,
            "loop": loop,
            "algorithm": state.description,
            "replay": [(chunk, count, self._chunks[chunk]) for chunk, count in state.replay],
            "first_chunk": first_chunk,
            "metrics": metrics,
            "config": msgspec.to_builtins(self._wanted),
        }
        write_file(self._state(number), pack_state(state, description))
        # 2. From here on the iteration is saved; all else follows from its state.
        self._take_place()
        self._iteration = iteration
        self.write_agent(agent)
        if iteration == 1:
            write_file(self._config, text_of(self._wanted))
        append(self.metrics, _line(metrics))
        self._prune(first_chunk)

    def write_agent(self, content: bytes) -> None:
        """Write the latest agent, and keep a copy if it is one of those that are kept."""
        if self._iteration in kept_agents(self._wanted.save, self._iteration):
            make_folders(self._agents)
            write_file(self.past_agent(self._iteration), content)
        write_file(self.agent, content)

    def _take_place(self) -> None:
        """Give a new run's first state its place, if there is one: the old run is deleted.

        After a kill the next call does the rest: the state has its place last.
        """
        if self._states() != [_FIRST]:
            return
        chunk = self._chunk(_FIRST)
        has_chunk = chunk in _files_in(self._replay, _CHUNK)
        # Without a chunk 0, the new run's chunk has its place already, or there is none.
        self._clear(self._state(_FIRST), chunk if has_chunk else self._chunk(1))
        if has_chunk:
            move_file(chunk, self._chunk(1))
        move_file(self._state(_FIRST), self._state(1))

    def _clear(self, *spared: Path) -> None:
        """Delete what runs wrote, but for the files in ``spared``."""
        for folder, pattern in (
            (self._replay, _CHUNK),
            (self._agents, _PAST_AGENT),
            (self.tensorboard, _CURVES),
            (self.path, _STATE),
        ):
            for item in _files_in(folder, pattern):
                if item not in spared:
                    remove_file(item)
            if folder != self.path:
                with suppress(OSError):  # it does not exist, or is not empty
                    folder.rmdir()
        for item in (self._config, self.agent, self.metrics, self.curve):
            remove_file(item)
            remove_file(item.with_name(item.name + PARTIAL))

    def _prune(self, first_chunk: int) -> None:
        """Delete states, chunks and past agents that are no longer needed.

        Past agents whose numbers are not multiples of ``save.every`` stay: another value kept them.
        """
        states = [number for number in self._states() if number <= self._iteration][-_KEPT_STATES:]
        every, agents = self._wanted.save.every, kept_agents(self._wanted.save, self._iteration)
        for folder, pattern, is_kept in (
            (self.path, _STATE, lambda number: number in states),
            (self._replay, _CHUNK, lambda number: number >= first_chunk),
            (
                self._agents,
                _PAST_AGENT,
                lambda number: number in agents or not every or number % every > 0,
            ),
        ):
            for item in _files_in(folder, pattern):
                if not is_kept(_number(item, pattern)) or item.name.endswith(PARTIAL):
                    remove_file(item)

    # The end.

    def close(self) -> None:
        """Release the folder; remove it if it is new and nothing was saved in it."""
        made, self._made = self._made, []
        try:
            if made and not self._states():
                with suppress(StorageError):  # in a read-only folder files remain
                    self._lock.check()
                    self._clear()
                    remove_file(self._lock.path)
        finally:
            self._lock.release()
        for folder in made:
            with suppress(OSError):  # it is not empty, or was moved
                folder.rmdir()

    # Files.

    def _states(self) -> list[int]:
        """Iterations of the run's states, ascending; of a run without its place `_FIRST` alone."""
        numbers = sorted(
            _number(item, _STATE)
            for item in _files_in(self.path, _STATE)
            if not item.name.endswith(PARTIAL)
        )
        return [_FIRST] if _FIRST in numbers else numbers

    def _state(self, number: int) -> Path:
        return self.path / f"state-{number:06d}.zip"

    def _chunk(self, number: int) -> Path:
        return self._replay / f"{number:06d}.npy"

    def chunk(self, iteration: int) -> np.ndarray:
        """The positions of one iteration, structured [N]; they stay on the disk until used."""
        return np.load(self._chunk(iteration), mmap_mode="r", allow_pickle=False)

    def past_agent(self, iteration: int) -> Path:
        """The file of the agent after an iteration, if it is one of those that are kept."""
        return self._agents / f"{iteration:06d}.safetensors"

    def past_agents(self) -> list[Path]:
        """The files of all agents that are kept, ascending; the latest comes last, perhaps twice.

        Any process may ask, also while the run continues.
        """
        kept = [item for item in _files_in(self._agents, _PAST_AGENT) if item.suffix != PARTIAL]
        return [*kept, self.agent] if self.agent.is_file() else kept


def kept_agents(save: SaveConfig, iteration: int) -> range:
    """The iterations up to this one whose agents are kept, spread evenly over the run."""
    if not save.every:
        return range(0)
    spacing = save.every
    while save.keep is not None and iteration // spacing > save.keep:
        spacing *= 2
    return range(spacing, iteration + 1, spacing)


def _line(metrics: dict[str, Any]) -> bytes:
    """A line of the log."""
    return f"{json.dumps(metrics)}\n".encode()


def _lines_of(log: bytes) -> dict[int, bytes]:
    """The lines before the first one that is not whole or not in order, by iteration."""
    lines: dict[int, bytes] = {}
    for line in log.splitlines(keepends=True):
        try:
            number = json.loads(line)["iteration"]
        except (ValueError, LookupError, TypeError, RecursionError):
            break
        if type(number) is not int or number <= max(lines, default=0) or line[-1:] != b"\n":
            break
        lines[number] = line
    return lines


def _files_in(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """The regular files in a folder whose names match; links do not count."""
    return [
        item
        for item in sorted(folder.glob("*"))
        if pattern.fullmatch(item.name) and item.is_file() and not item.is_symlink()
    ]


def _number(item: Path, pattern: re.Pattern[str]) -> int:
    """The number in a file's name."""
    match = pattern.fullmatch(item.name)
    assert match is not None, "it was chosen by the pattern"
    return int(match["number"])


def _read(path: Path) -> bytes:
    """The content of a regular file; `DamagedError` if it cannot be read."""
    try:
        return read_regular_file(path, _LARGEST_FILE, "a part of a run")
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing") from None
    except ValueError as error:
        raise DamagedError(str(error)) from None


def text_of(config: TrainingConfig) -> bytes:
    """The content of a configuration's file."""
    return write_yaml(msgspec.to_builtins(config)).encode()


def compared(config: TrainingConfig) -> dict[str, Any]:
    """The keys of a configuration that must not change when a run resumes, as JSON values."""
    return {k: v for k, v in msgspec.to_builtins(config).items() if k not in _NOT_COMPARED}


def differences(known: dict[str, Any], given: dict[str, Any], prefix: str = "") -> list[str]:
    """Keys whose values differ, as ``section.key: OLD there, NEW now``."""
    found = []
    for key in known | given:
        old, new = known.get(key), given.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(f"{prefix}{key}: {old!r} there, {new!r} now")
    return found
