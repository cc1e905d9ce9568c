"""Every vector in the repository passes: what real Kubernetes answered, Moorage answers.

Each file is split over a few tests, so that they run side by side. cel_spec.json belongs to another project and is not
copied; it is run where it lies beside this repository.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.kinds import BY_NAME, KINDS, Kind, recognise
from tests.conformance.run import run_cases
from tests.conformance.vector_file import read_cases

VECTORS = Path(__file__).parent / "vectors"
BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "vectors" / "cel_spec.json"
NOT_COPIED = "cel_spec"
PARTS = 4

FILES = [(kind, path) for path in sorted(VECTORS.iterdir()) if (kind := recognise(path.name, [])) is not None]
FILES += [(BY_NAME[NOT_COPIED], path) for path in [BESIDE_THE_REPOSITORY] if path.exists()]


@cache
def cases_of(path: Path) -> list[Any]:
    return read_cases(path)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("kind", "path"), [pytest.param(kind, path, id=path.name.split(".")[0]) for kind, path in FILES]
)
def test_every_vector_passes(kind: Kind, path: Path, part: int) -> None:
    report = run_cases(path.name, kind, cases_of(path)[part::PARTS])
    assert not report.failed, report.text(shown=5)


def test_the_repository_holds_each_kind_of_vectors_but_the_one_of_another_project() -> None:
    assert {recognise(path.name, []) for path in VECTORS.iterdir()} == {*KINDS} - {BY_NAME[NOT_COPIED]}


@pytest.mark.parametrize(
    ("kind", "path"), [pytest.param(kind, path, id=path.name.split(".")[0]) for kind, path in FILES]
)
def test_a_kind_is_recognised_by_its_cases_alone(kind: Kind, path: Path) -> None:
    assert recognise("anonymous.json", cases_of(path)) is kind
