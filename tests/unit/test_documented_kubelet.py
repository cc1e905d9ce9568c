"""docs/kubelet.md has every annotation and label of simulated nodes, and every reason to reject a pod."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "kubelet.md").read_text(encoding="utf-8")
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "moorage" / "run").rglob("*.py"))


def test_every_name_under_our_prefix_is_told() -> None:
    names = set(re.findall(r'"(simulate\.moorage\.dev/[a-z-]+)"', SOURCE))
    assert names
    assert {name for name in names if f"`{name}" not in PAGE} == set()


def test_every_rejection_is_told() -> None:
    reasons = set(re.findall(r'(?:Refusal|_failed)\("(\w+)"', SOURCE))
    assert reasons
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()
