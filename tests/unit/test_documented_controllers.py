"""docs/controllers.md has every controller, and no other."""

import re
from pathlib import Path

from moorage.control.registry import CONTROLLERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "controllers.md"


def test_every_controller_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`[^|]*-controller`) \| \S", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(told) == sorted(row.name for row in CONTROLLERS)
