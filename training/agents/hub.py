"""Agents on the Hugging Face Hub, named ``hf:OWNER/NAME``: fetching and publishing them.

Only the file ``agent.safetensors`` of a repository is used, an untrusted checkpoint: numbers and a
description, nothing that is run or unpickled. Its size is checked before it is fetched. It is kept
where the client library keeps files (``HF_HOME``); that library also handles tokens, other hubs
(``HF_ENDPOINT``) and offline work (``HF_HUB_OFFLINE=1``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.base.files import MEGABYTE
from ludarium.base.messages import quoted, shortened

from .agent import AgentSpec
from .checkpoints import TrainedSpec

#: Name of the agent's file in a repository.
FILE = "agent.safetensors"
#: Largest file that is fetched, in bytes: about 70 times the largest shipped network.
MOST_BYTES = 200 * MEGABYTE

_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_INSTALL = 'pip install "ludarium[hub]"'


@dataclass(frozen=True, kw_only=True)
class HubSpec(TrainedSpec):
    """The agent of a repository on the hub.

    Attributes:
        repository: ``OWNER/NAME``.
        revision: branch, tag or commit; None for the latest.
    """

    usage = "hf:OWNER/NAME[@REVISION][:SIMULATIONS]"
    help = "an agent on the Hugging Face Hub, where `ludarium push` puts one"
    risk = "asks another machine"

    repository: str
    revision: str | None = None

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``OWNER/NAME[@REVISION][:SIMULATIONS]``; see `AgentSpec.read`."""
        name, colon, simulations = (argument or "").partition(":")
        repository, at, revision = name.partition("@")
        if not _REPOSITORY.fullmatch(repository) or (at and not revision):
            raise ValueError(
                f"{quoted(name)} is not a repository: hf:OWNER/NAME or hf:OWNER/NAME@REVISION"
            )
        own = {"repository": repository, "revision": revision or None}
        return super().read(simulations if colon else None, settings, **own)

    @property
    def subject(self) -> str:
        """``hf:`` and `short`."""
        return f"hf:{self.short}"

    @property
    def short(self) -> str:
        """``OWNER/NAME`` or ``OWNER/NAME@REVISION``."""
        return self.repository + (f"@{self.revision}" if self.revision else "")

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The file, which is fetched unless it is cached; see `TrainedSpec.checkpoint_path`."""
        return fetch(self.repository, self.revision)


def fetch(repository: str, revision: str | None = None) -> Path:
    """The file of an agent on the hub, which is fetched unless it is cached.

    Raises:
        ImportError: the client library is not installed.
        ValueError: there is no such repository, revision or file, it is too large, or the hub
            cannot be reached; the message names the repository.
    """
    hub = _library()
    name = f"hf:{repository}" + (f"@{revision}" if revision else "")
    try:
        size = hub.hf_hub_download(repository, FILE, revision=revision, dry_run=True).file_size
        if size is None or size > MOST_BYTES:
            told = "an unknown number of" if size is None else f"{size:,}"
            raise ValueError(f"{FILE} has {told} bytes, and an agent has at most {MOST_BYTES:,}")
        return Path(hub.hf_hub_download(repository, FILE, revision=revision))
    except Exception as error:  # the client's transport has its own errors
        raise ValueError(f"{name}: {shortened(str(error), 300)}") from None


def push(files: Mapping[str, bytes], repository: str, private: bool = False) -> str:
    """Put files into a repository, which is created if needed; return its address.

    Args:
        files: contents by name.
        repository: ``OWNER/NAME``.
        private: whether a new repository is private.

    Raises:
        ImportError: the client library is not installed.
        ValueError: ``repository`` is not of that form, or the hub refuses, for example without a
            token; the message says why.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise ValueError(f"{quoted(repository)} is not a repository: OWNER/NAME")
    hub = _library()
    client = hub.HfApi()
    try:
        made = client.create_repo(repository, private=private, exist_ok=True)
        client.create_commit(
            repository,
            [hub.CommitOperationAdd(name, content) for name, content in files.items()],
            commit_message="ludarium push",
        )
    except Exception as error:  # the library's kinds for a lost connection differ by version
        raise ValueError(f"{repository} was not written: {shortened(str(error), 300)}") from None
    return str(made)


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ImportError(f"the hub needs a package ({error}): {_INSTALL}") from error
    return huggingface_hub
