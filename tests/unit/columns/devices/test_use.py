"""Promises of devices: how long they hold, and what ends them."""

from collections.abc import Callable
from typing import Any

import pytest

from moorage.columns.devices.use import DevicePromises, special_key
from moorage.match.devices.extended_resources import RequestsAndMappings

KEY = ("default", "claim")
POD = "default/pod"
RAW: dict[str, Any] = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}


class Counted(DevicePromises):
    """Promises, and who holds something by them."""

    def __init__(self) -> None:
        self.holders: set[str] = set()
        super().__init__(lambda holder, held: (self.holders.add if held else self.holders.discard)(holder))


@pytest.fixture
def promises() -> Counted:
    made = Counted()
    made.make(POD, KEY, "uid", RAW)
    return made


def test_a_promise_counts_until_it_is_released(promises: Counted) -> None:
    assert promises.holders == {"default/claim"}
    assert promises.of(POD) == {KEY: RAW}
    assert KEY in promises
    promises.release(POD)
    assert not promises.holders
    assert not promises
    promises.release(POD)


@pytest.mark.parametrize(
    ("show", "ends"),
    [
        (lambda promises: promises.shown(KEY, "uid", False, 5), False),  # it does not show it yet
        (lambda promises: promises.shown(KEY, "uid", True, 5), True),
        (lambda promises: promises.shown(KEY, "another", False, 5), True),
        (lambda promises: promises.gone(KEY), True),
    ],
)
def test_what_the_watch_shows_ends_a_promise(
    promises: Counted, show: Callable[[DevicePromises], None], ends: bool
) -> None:
    show(promises)
    assert bool(promises.holders) is not ends


def test_what_was_written_holds_until_the_watch_has_come_as_far(promises: Counted) -> None:
    promises.written(KEY, 7)
    promises.release(POD)
    promises.shown(KEY, "uid", False, 6)
    assert promises.holders
    promises.shown(KEY, "uid", False, 7)  # it was written, and taken back since
    assert not promises.holders


def test_nothing_is_released_while_it_is_being_written(promises: Counted) -> None:
    promises.begin_writing(POD)
    promises.release(POD)
    assert promises.holders
    promises.end_writing(POD)
    assert not promises.holders


def test_a_claim_for_extended_resources_is_promised_before_it_is_created() -> None:
    promises = Counted()
    made = RequestsAndMappings((), ())
    promises.make_extended(POD, RAW, made)
    assert promises.extended(POD) is made
    promises.created(special_key(POD), KEY, "uid")
    assert promises.extended(POD) is None
    assert promises.holders == {"default/claim"}
    assert promises.of(POD) == {KEY: RAW}
