"""What create, update and patch do to managedFields.

In: the object before and after, its entries, who writes. Out: the entries after: whoever wrote a value owns it, all
others lose it; what was removed nobody owns; what kept its value keeps its owners, and a write that changes nothing
leaves everything alone, its time included. Kubernetes: structured-merge-diff, merge/update (Update);
managedfields/internal/managedfieldsupdater.
"""

from typing import Any

from moorage.serve.apply.comparison import Comparison
from moorage.serve.apply.entries import Entry, Managed, Writer, cap_updaters
from moorage.serve.apply.field_set import Fields, difference, includes, intersects, union
from moorage.serve.apply.reset_fields import NEVER_OWNED

Raw = dict[str, Any]


def update_managers(managed: Managed, comparison: Comparison, writer: Writer, api_version: str, time: str) -> Managed:
    """The entries after a write that changed what `comparison` says; the very same table if that is nothing."""
    removed, changed = comparison.removed, comparison.changed
    if not removed and not changed:
        return managed
    after = without_fields(managed, changed, removed, taker=writer)
    owned = difference(changed, NEVER_OWNED)
    if owned:
        if after is managed:
            after = dict(managed)
        previous = after.get(writer)
        if previous is None:
            fields = owned
        else:
            fields = previous.fields if includes(previous.fields, owned) else union(previous.fields, owned)
        after[writer] = Entry(fields, api_version, time)
    return cap_updaters(after)


def without_fields(managed: Managed, changed: Fields, removed: Fields, taker: Writer) -> Managed:
    """The entries without the fields that `taker` took and those that are gone; without those that own nothing then."""
    after = managed
    for writer, entry in managed.items():
        fields = entry.fields
        if writer != taker and intersects(changed, fields):
            fields = difference(fields, changed)
        if intersects(removed, fields):
            fields = difference(fields, removed)
        if fields is entry.fields and fields:
            continue
        if after is managed:
            after = dict(managed)
        if fields:
            after[writer] = entry._replace(fields=fields)
        else:
            del after[writer]
    return after
