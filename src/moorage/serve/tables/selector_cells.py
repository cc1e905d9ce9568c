"""Selectors as one line of text, for the wide columns of workloads and services.

In: raw label selectors and label maps. Out: `app=web,tier in (a,b)`. Kubernetes: metav1.FormatLabelSelector,
labels.FormatLabels.
"""

from typing import Any

from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.meta import LabelSelector
from moorage.serve.tables.columns import NONE


def selector_cell(selector: Any, *, nothing: str = NONE, unreadable: str = "<error>") -> str:
    """The canonical text of a label selector; `nothing` where it selects nothing or everything."""
    if selector is None:
        return nothing
    try:
        return str(compile_label_selector(convert_view(selector, LabelSelector))) or nothing
    except (ConversionError, SelectorError):
        return unreadable


def labels_cell(labels: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE
