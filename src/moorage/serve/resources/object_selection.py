"""Label and field selectors of one request, as one question to an object.

In: the two texts. Out: a `Selection`. Kubernetes: storage.SelectionPredicate.
"""

from typing import Any

import msgspec

from moorage.match.label_selector import Selector
from moorage.model.kinds import Kind
from moorage.serve.resources.selector_parameters import FieldMatcher, compile_field_selector, compile_label_selector

Raw = dict[str, Any]


class Selection(msgspec.Struct, frozen=True):
    """Which objects are wanted. `name` is the only name that can be, if there is only one."""

    labels: Selector | None = None
    fields: FieldMatcher | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None

    @property
    def name(self) -> str:
        return self.fields.name if self.fields is not None else ""

    @property
    def is_only_name(self) -> bool:
        return self.labels is None and self.fields is not None and self.fields.is_only_name

    def wants(self, raw: Raw) -> bool:
        if self.labels is not None and not self.labels.match(raw["metadata"].get("labels") or {}):
            return False
        return self.fields is None or self.fields.matches(raw)


EVERYTHING = Selection()


def compile_selection(kind: Kind, labels: str, fields: str) -> Selection:
    """Raises ApiError 400 for selectors that do not parse."""
    if not labels and not fields:
        return EVERYTHING
    return Selection(
        compile_label_selector(labels) if labels else None, compile_field_selector(kind, fields) if fields else None
    )
