"""Fixtures of the interoperability tests: programs beside the test, and the kubectl that the environment names."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.binaries import KUBECTL
from tests.interop.programs import Programs, programs_in


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    if os.environ.get(KUBECTL):
        monkeypatch.setenv("KUBECTL", os.environ[KUBECTL])
    with programs_in(tmp_path) as made:
        yield made
