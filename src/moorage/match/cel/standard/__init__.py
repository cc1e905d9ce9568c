"""The standard library of CEL, as rows: operators, conversions, text, time, lists, maps and optionals.

Kubernetes: cel-go common/stdlib and cel/library.go.
"""

from __future__ import annotations

from moorage.match.cel.functions import Function
from moorage.match.cel.standard.aggregates import AGGREGATES
from moorage.match.cel.standard.calendar import TIME_FUNCTIONS
from moorage.match.cel.standard.conversions import CONVERSIONS
from moorage.match.cel.standard.operators import OPERATORS

STANDARD_FUNCTIONS: tuple[Function, ...] = (
    *OPERATORS,
    *AGGREGATES,
    *CONVERSIONS,
    *TIME_FUNCTIONS,
)
