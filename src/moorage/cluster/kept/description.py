"""Store the options of `moorage up` with a cluster's data, so that the next start makes the same cluster.

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


class MergedOptions(NamedTuple):
    """The options of a start: new ones over those of the last start, and for the user which differ and which stay."""

    options: dict[str, Any]
    differences: dict[str, tuple[Any, Any]]
    unchanged: dict[str, Any]


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
        description = msgspec.json.decode(content, type=Description)
    except msgspec.MsgspecError as error:
        raise DescriptionError(
            f"{source} is damaged ({error}): remove it to forget what the cluster was told at its last start"
        ) from None
    if description.format > FORMAT:
        raise DescriptionError(
            f"{source} was written by a newer release ({description.version}): use that release, or another cluster"
        )
    return description


def write_description(directory: Path, description: Description) -> None:
    """Raises OSError."""
    text = msgspec.json.format(msgspec.json.encode(description))
    write_private(directory / DESCRIPTION_FILE, text + b"\n")


def merge_options(given: Mapping[str, Any], remembered: Description | None) -> MergedOptions:
    """Merge new options over stored ones."""
    known = remembered.options if remembered is not None else {}
    plain = {name: _plain(value) for name, value in given.items()}
    differences = {name: (value, known[name]) for name, value in plain.items() if known.get(name, value) != value}
    unchanged = {name: value for name, value in known.items() if name not in plain}
    return MergedOptions({**known, **plain}, differences, unchanged)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, to compare it with one that was read."""
    return msgspec.json.decode(msgspec.json.encode(str(value) if isinstance(value, Path) else value))
