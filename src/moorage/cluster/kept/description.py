"""Remember with a cluster's data what `moorage up` was told, so that the next start makes the same cluster.

Options that were given are kept by name, and files that they name with their text, because the file may be changed or
gone. What the command line says wins over what is remembered.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage import __version__
from moorage.client.kubeconfig.private_file import write_private
from moorage.cluster.kept.places import DESCRIPTION_FILE

FORMAT = 1


class DescriptionError(Exception):
    """The file of a cluster cannot be used: one line for the user."""


class Description(msgspec.Struct, frozen=True):
    """What is known of a cluster besides its objects. `contexts` are the kubeconfigs that have its context."""

    format: int = FORMAT
    version: str = __version__
    name: str = ""
    options: dict[str, Any] = {}
    files: dict[str, str] = {}
    contexts: tuple[str, ...] = ()
    port: int = 0
    ephemeral: bool = False


class Recalled(NamedTuple):
    """Options for a start: those given, and those of the last start. `differences` and `again` are for the user."""

    options: dict[str, Any]
    differences: dict[str, tuple[Any, Any]]
    again: dict[str, Any]


def read_description(directory: Path) -> Description | None:
    """Raises DescriptionError."""
    path = directory / DESCRIPTION_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DescriptionError(f"{path} cannot be read: {error.strerror}") from None
    return parse_description(content, str(path))


def parse_description(content: bytes, source: str) -> Description:
    """Raises DescriptionError."""
    try:
        found = msgspec.json.decode(content, type=Description)
    except msgspec.MsgspecError as error:
        raise DescriptionError(
            f"{source} is damaged ({error}): remove it to forget what the cluster was told at its last start"
        ) from None
    if found.format > FORMAT:
        raise DescriptionError(
            f"{source} was written by a newer release ({found.version}): use that release, or another cluster"
        )
    return found


def write_description(directory: Path, description: Description) -> None:
    """Raises OSError."""
    text = msgspec.json.format(msgspec.json.encode(description))
    write_private(directory / DESCRIPTION_FILE, text + b"\n")


def recall(given: Mapping[str, Any], remembered: Description | None) -> Recalled:
    """Put what is given over what is remembered."""
    known = remembered.options if remembered is not None else {}
    plain = {name: _plain(value) for name, value in given.items()}
    differences = {name: (value, known[name]) for name, value in plain.items() if known.get(name, value) != value}
    again = {name: value for name, value in known.items() if name not in plain}
    return Recalled({**known, **plain}, differences, again)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, to compare it with one that was read."""
    return msgspec.json.decode(msgspec.json.encode(str(value) if isinstance(value, Path) else value))
