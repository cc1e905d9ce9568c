"""Read once what happened before the dashboard started: the cluster's Events, and the timestamps of its objects.

Events that come later are not read: what is seen live tells the same. How many Events are read and lines are kept is
bounded. Events may be forbidden; then timestamps alone tell, and a sentence says so.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from moorage.client.http_client import HttpClient
from moorage.client.protocol import Object, Unreachable
from moorage.dashboard.earlier.from_events import events_in, known_from_events
from moorage.dashboard.earlier.from_timestamps import WORKLOADS, known_from_objects
from moorage.dashboard.earlier.known import merged
from moorage.dashboard.earlier.owners import Owners
from moorage.dashboard.state.timeline_entry import TimelineEntry
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.watch.happenings import Happening

MAX_EVENTS = 20_000
MAX_ENTRIES = 1_000
#: Objects of which kinds tell by their timestamps, or whose pods Events are about.
KINDS_READ = (KINDS.POD, KINDS.NODE, KINDS.REPLICA_SET, *WORKLOADS)
_SECONDS = 60.0
#: What is seen live just after the start may have an Event with the time just before.
_OVERLAP = 2.0


async def read_earlier(client: HttpClient, objects: list[Object], until: float) -> dict[str, Any]:
    """Return the answer to `GET /api/earlier`: entries before `until`, and what is missing and why."""
    problem, events, is_complete = "", list[Object](), True
    try:
        async with asyncio.timeout(_SECONDS):
            events, is_complete = await client.list_some(KINDS.EVENT, MAX_EVENTS)
    except ApiError as error:
        problem = f"Events cannot be read: {error.message}"
    except Unreachable as error:
        problem = f"Events cannot be read: {error}"
    except TimeoutError:
        problem = f"Events were not read within {_SECONDS:.0f} s"
    if not is_complete:
        problem = f"There are more than {len(events):,} Events: the others were not read"
    # Of a large cluster this takes a while: others must not wait for it.
    entries, left_out = await asyncio.to_thread(entries_before, until, events, objects)
    return {"until": until, "entries": entries, "leftOut": left_out, "problem": problem}


def entries_before(until: float, events: Iterable[Object], objects: list[Object]) -> tuple[list[TimelineEntry], int]:
    """Return what happened before a time, the oldest first, and how many entries are left out."""
    views = events_in(events)
    owners = Owners(objects, views)
    known = [*known_from_events(views, owners), *known_from_objects(objects, owners, MAX_ENTRIES)]
    return merged((item for item in known if item.happening.time <= until), MAX_ENTRIES)


def without_live(entries: Iterable[TimelineEntry], live: Iterable[Happening], until: float) -> list[TimelineEntry]:
    """Return the entries that were not seen live, too: around the start both may know of the same."""
    seen = {(happening.kind.value, happening.subject) for happening in live if happening.time <= until + _OVERLAP}
    return [entry for entry in entries if entry.time < until - _OVERLAP or (entry.kind, entry.subject) not in seen]
