"""What the API server would answer: its refusals, with a hint where one helps.

In: an object and the gates. Out: `rejected`, one complaint for each field error, in the API server's words and order.
Next: `label_keys`, for what it will say later, when the pods of a template are created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.hints import hint_for
from moorage.lint.subject import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def written_path(path: str) -> str:
    """Where the mistake is written: for a key that selector and matchLabelKeys share, upstream's path is the term's own
    followed by the key's index.
    """
    if "][" in path:
        term, _, index = path.rpartition("[")
        return f"{term}.matchLabelKeys[{index}"
    return path.replace(".podAffinityTerm[", ".podAffinityTerm.matchLabelKeys[")
