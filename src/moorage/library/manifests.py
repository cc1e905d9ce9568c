"""Reads what the library's functions are given: paths, YAML or JSON text, dicts, and sequences of these."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from moorage.lint.sources import Source, sources_of
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


#: One object or many: a path, YAML or JSON text (text has a line end or begins with `{`), or an object as a dict.
Manifest: TypeAlias = str | Path | Mapping[str, Any]
Manifests: TypeAlias = Manifest | Iterable[Manifest]
#: Feature gates: a mapping, or text as `--feature-gates` has it.
Gates: TypeAlias = Mapping[str, bool] | str


def sources_from(manifests: Manifests) -> Iterator[Source]:
    """Return sources for the readers of `plan` and `lint`. Texts and dicts are named by their position."""
    if isinstance(manifests, str | Path | Mapping):
        manifests = [manifests]
    for number, manifest in enumerate(manifests, 1):
        name = f"<manifest {number}>"
        if isinstance(manifest, Mapping):
            yield Source(name, content=_encoded(manifest))
        elif isinstance(manifest, str) and _is_text(manifest):
            yield Source(name, content=manifest.encode())
        elif isinstance(manifest, str | Path):
            yield from sources_of([str(manifest)])
        else:
            raise TypeError(f"a manifest is a path, text or a mapping, not {type(manifest).__name__}")


def object_from(manifest: Manifest) -> dict[str, Any]:
    """Return the one object of a manifest. Raises MoorageError if there is none or there are several."""
    if isinstance(manifest, Mapping):
        decoded: dict[str, Any] = msgspec.json.decode(_encoded(manifest))
        return decoded
    text = manifest.encode() if isinstance(manifest, str) and _is_text(manifest) else _read(Path(manifest))
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
    return "\n" in text or text.lstrip().startswith("{")


def _encoded(manifest: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(manifest)
    except (TypeError, ValueError) as error:
        raise MoorageError(f"not a document: {error}") from None


def _read(path: Path) -> bytes:
    with as_moorage_errors(OSError):
        return path.read_bytes()
