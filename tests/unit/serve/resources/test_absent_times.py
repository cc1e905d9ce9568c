"""Times that are not set are null in Events of both groups, as Go writes them, so that kubectl can sort by them."""

from typing import Any

from tests.unit.serve.verbs.bench import ME, document, new_api

from moorage.model.kinds import KINDS, Ref
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import Patch, patch_object

TIME, MICRO_TIME = "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"


def reported() -> dict[str, Any]:
    return document(
        KINDS.REPORTED_EVENT,
        "seen",
        eventTime=MICRO_TIME,
        reportingController="default-scheduler",
        reportingInstance="one",
        action="Binding",
        reason="Scheduled",
        regarding={"kind": "Pod", "name": "web", "namespace": "default"},
        type="Normal",
    )


async def test_a_reported_event_has_null_times_in_the_core_group() -> None:
    async with new_api() as api:
        stored = (await create(api, KINDS.REPORTED_EVENT, "default", reported(), ME)).stored
        core = decode(KINDS.EVENT, stored)
        assert core["eventTime"] == MICRO_TIME
        assert {name: core[name] for name in ("firstTimestamp", "lastTimestamp", "source")} == {
            "firstTimestamp": None,
            "lastTimestamp": None,
            "source": {},
        }
        assert b'"lastTimestamp":null' in stored.value
        same = decode(KINDS.REPORTED_EVENT, stored)
        assert same["deprecatedLastTimestamp"] is None
        assert same["deprecatedSource"] == {}
        series = {"series": {"count": 2, "lastObservedTime": MICRO_TIME}}
        ref = Ref(KINDS.REPORTED_EVENT, "default", "seen")
        changed = await patch_object(api, ref, Patch("application/strategic-merge-patch+json", series), ME, "")
        assert decode(KINDS.EVENT, changed.stored)["lastTimestamp"] is None


async def test_a_counted_event_has_no_event_time_and_empty_words_are_left_out_of_the_new_group() -> None:
    involved = {"kind": "Pod", "name": "web", "namespace": "default"}
    event = document(
        KINDS.EVENT,
        "seen",
        involvedObject=involved,
        reason="Started",
        firstTimestamp=TIME,
        lastTimestamp=TIME,
        type="Normal",
    )
    async with new_api() as api:
        stored = (await create(api, KINDS.EVENT, "default", event, ME)).stored
        core = decode(KINDS.EVENT, stored)
        assert core["eventTime"] is None
        assert core["reportingComponent"] == core["reportingInstance"] == ""
        new = decode(KINDS.REPORTED_EVENT, stored)
        assert (new["eventTime"], new["deprecatedLastTimestamp"]) == (None, TIME)
        assert "reportingController" not in new
        assert "reportingInstance" not in new
