"""What a key has written is waited for, but not remembered for longer: its object may be gone, and never come back."""

from moorage.control.framework.pending_writes import Expectations
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS


def test_keys_that_never_come_back_are_forgotten() -> None:
    expectations = Expectations(World(), lambda kind: 0)
    for number in range(100):
        expectations.expect_revision(f"key-{number}", KINDS.NODE, 7, number / 10)
    assert len(expectations._pending) == 100
    assert expectations.is_waiting("key-99", 9.9)
    expectations.expect_revision("new", KINDS.NODE, 7, 12.0)
    assert [*expectations._pending] == [*(f"key-{number}" for number in range(21, 100)), "new"]
    assert expectations.is_waiting("key-99", 12.0)
    expectations.expect_revision("newer", KINDS.NODE, 7, 1000.0)
    assert [*expectations._pending] == ["newer"]
