"""Pipelines of the documentation: what is piped into a command has every kind that the command reads."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIPELINE = re.compile(r"kubectl get [^|\n]*(\|\s*moorage|-o yaml\s*>|,[^|\n]* -A -o yaml)")


def test_clusters_are_piped_by_dump_which_has_every_kind() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src" / "moorage" / "cli").rglob("*.py")]
    assert [str(page) for page in pages if PIPELINE.search(page.read_text("utf-8"))] == []
