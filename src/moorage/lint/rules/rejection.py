"""What the API server would answer: its refusals, with a hint where one helps.

In: an object and the gates. Out: `rejected`, one complaint for each field error, in the API server's words and order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.hints import gate_needed, hint_for
from moorage.lint.subject import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.admit.raw import Raw
    from moorage.model.field_error import FieldError
    from moorage.model.gates import GateSet


def rejections(errors: Sequence[FieldError], gates: GateSet) -> Iterator[Complaint]:
    """The errors as complaints; of several about one field, the first carries the hint."""
    hinted: set[str] = set()
    for error in errors:
        hint = "" if error.path in hinted else hint_for(error, gates)
        if hint:
            hinted.add(error.path)
        yield Complaint("rejected", written_path(error.path), str(error), hint, api_server=True)


def exists_already(raw: Raw) -> bool:
    """Whether a server has made this object: only servers give a uid."""
    metadata = raw.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("uid"))


def errors_of_existing(raw: Raw, errors: Sequence[FieldError], gates: GateSet) -> tuple[FieldError, ...]:
    """The errors that count for an object that exists already, as `kubectl get` prints it.

    It is not going to be created once more: keys that were merged then need not be merged again, and what only updates
    may set is set. What its gates forbid still counts, for the next one made from it.
    """
    from moorage.admit.admission import Rejected, admit

    unchanged = admit(raw, raw, gates, plugins=())
    still = {str(error) for error in unchanged.errors} if isinstance(unchanged, Rejected) else set()
    return tuple(error for error in errors if str(error) in still or gate_needed(error, gates) is not None)


def warnings_given(warnings: Sequence[str]) -> Iterator[Complaint]:
    """What the API server says in a warning while it accepts the object."""
    for warning in warnings:
        path, colon, _ = warning.partition(": ")
        yield Complaint("api-server-warning", path if colon and " " not in path else "", warning, api_server=True)


def written_path(path: str) -> str:
    """Where the mistake is written: for a key that selector and matchLabelKeys share, upstream's path is the term's own
    followed by the key's index.
    """
    if "][" in path:
        term, _, index = path.rpartition("[")
        return f"{term}.matchLabelKeys[{index}"
    return path.replace(".podAffinityTerm[", ".podAffinityTerm.matchLabelKeys[")
