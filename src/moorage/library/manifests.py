"""Reads what the library's functions are given: paths, YAML or JSON text, dicts, and sequences of these."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from moorage.lint.sources import STDIN, Source, reason_of, sources_of
from moorage.model.gates import GateError, GateSet, gates_from, named_values, parse_feature_gates
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents


class MoorageError(ValueError):
    """Something in the arguments or the input makes an answer impossible; the text says what."""


@contextmanager
def as_moorage_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Raise exceptions of these kinds as MoorageError, with their text."""
    try:
        yield
    except kinds as error:
        raise MoorageError(str(error)) from error


#: One object or many: a path, YAML or JSON text (with a line end, or beginning with `{` or `[`), or a dict.
Manifest: TypeAlias = str | Path | Mapping[str, Any]
Manifests: TypeAlias = Manifest | Iterable[Manifest]
#: Texts: one, or many.
Texts: TypeAlias = str | Iterable[str]
Paths: TypeAlias = str | Path | Iterable[str | Path]
#: Feature gates: a mapping, or text as `--feature-gates` has it.
Gates: TypeAlias = Mapping[str, bool] | str


def sources_from(manifests: Manifests) -> Iterator[Source]:
    """Return sources for the readers of `plan` and `lint`. Texts and dicts are named by their position."""
    for number, manifest in enumerate(one_or_many(manifests), 1):
        name = f"<manifest {number}>"
        if isinstance(manifest, Mapping):
            yield Source(name, content=_encoded(manifest))
        elif isinstance(manifest, str) and _is_text(manifest):
            yield Source(name, content=manifest.encode())
        elif isinstance(manifest, str | Path):
            _check_readable(manifest)
            yield from sources_of([str(manifest)])
        else:
            raise MoorageError(f"a manifest is a path, text or a mapping, not {type(manifest).__name__}")


def one_or_many(values: Any) -> Iterator[Any]:
    """Yield the elements of a list; a text, a path or a mapping is one element. Raises MoorageError."""
    if isinstance(values, str | bytes | Path | Mapping):
        yield values
    elif isinstance(values, Iterable):
        yield from values
    else:
        raise MoorageError(f"a text or a list was expected, not {type(values).__name__}")


def texts_of(values: Paths, name: str) -> tuple[str, ...]:
    """Return the texts of a list; a text is one element. Raises MoorageError, which calls the argument by its name."""
    texts = tuple(one_or_many(values))
    for text in texts:
        if not isinstance(text, str | Path):
            raise MoorageError(f"{name} is a text or a list of texts, and {type(text).__name__} is in it")
    return tuple(map(str, texts))


def _check_readable(path: str | Path) -> None:
    """Raise MoorageError if there is no such file or directory, or it may not be read."""
    if str(path) == STDIN:
        return
    if not str(path):
        raise MoorageError("a manifest is a path, text or a mapping, not an empty text")
    try:
        is_there = os.access(path, os.R_OK) or Path(path).stat()
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        hint = "; YAML text needs a line end" if isinstance(path, str) and ":" in path else ""
        raise MoorageError(f"{path}: {reason}{hint}") from None
    if is_there is not True:
        raise MoorageError(f"{path}: {os.strerror(errno.EACCES)}")


def object_from(manifest: Manifest) -> dict[str, Any]:
    """Return the one object of a manifest. Raises MoorageError if there is none or there are several."""
    if isinstance(manifest, Mapping):
        decoded: dict[str, Any] = msgspec.json.decode(_encoded(manifest))
        return decoded
    text = manifest.encode() if isinstance(manifest, str) and _is_text(manifest) else read_bytes(manifest)
    documents = list(read_documents(BytesIO(text), "<manifest>"))
    for document in documents:
        if isinstance(document, DecodeError):
            raise MoorageError(str(document))
    if len(documents) != 1:
        raise MoorageError(f"one object was expected, and there are {len(documents)}")
    found: dict[str, Any] = documents[0].raw  # type: ignore[union-attr]
    return found


def gates_of(gates: Gates | None, release: int | None = None) -> GateSet:
    """Return all gates, those that are not given at their default, of a release. Raises MoorageError."""
    with as_moorage_errors(GateError):
        return gates_from(parse_feature_gates(gates) if isinstance(gates, str) else gates or {}, release)


def named_gates(gates: Gates | None) -> dict[str, bool]:
    """Return the gates that are given, by name or by stage. Raises MoorageError."""
    with as_moorage_errors(GateError):
        return named_values(parse_feature_gates(gates) if isinstance(gates, str) else gates or {})


def _is_text(text: str) -> bool:
    return "\n" in text or text.lstrip().startswith(("{", "["))


def _encoded(manifest: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(manifest)
    except (TypeError, ValueError) as error:
        raise MoorageError(f"not a document: {error}") from None


def read_bytes(path: str | Path) -> bytes:
    """Raises MoorageError with the path and the reason."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise MoorageError(f"{path}: {reason_of(error) if isinstance(error, OSError) else error}") from None
