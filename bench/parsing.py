"""Versions and quantities: one text at a time."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

from bench.measure import time_call
from bench.result import Result, timed
from moorage.match.semver import parse_tolerant
from moorage.model.quantity import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator


#: More quantities than any cache of them holds.
DISTINCT = 20_000


def measure() -> Iterator[Result]:
    for version in ("1.32.4", "v5.15.0-91-generic"):
        yield timed("parsing", f"parse version {version}", time_call(partial(parse_tolerant, version)))
    older, newer = parse_tolerant("1.31.99"), parse_tolerant("1.32.4")
    yield timed("parsing", "compare two versions", time_call(lambda: older.compare(newer)))
    for form in ("{}m", "{}Mi", "{}.5e3"):
        texts = cycle(form.format(number) for number in range(DISTINCT))
        yield timed("parsing", f"parse quantities {form.format(250)} …", time_call(partial(_parse_next, texts)))
    yield timed("parsing", "parse a quantity seen before", time_call(partial(parse_quantity, "250m")))


def _parse_next(texts: Iterator[str]) -> object:
    return parse_quantity(next(texts))
