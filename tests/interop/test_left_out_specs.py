"""The list of specs that are left out says why of each, once."""

import re

from tests.interop.conformance_specs import CHOSEN, KEPT, left_out


def test_every_spec_has_a_reason_and_is_listed_once() -> None:
    listed = [line.strip() for line in KEPT.read_text().splitlines() if line.startswith("  ")]
    reasons = left_out()
    assert sorted(listed) == sorted(reasons)
    assert all(reason.endswith(".") for reason in reasons.values())
    assert [spec for spec in listed if not CHOSEN.match(spec)] == []
    assert all(re.fullmatch(r"\S.*\[Conformance\]", spec) for spec in listed)
