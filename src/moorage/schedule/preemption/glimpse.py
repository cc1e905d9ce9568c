"""Look at what filters would say if some pods were gone or there, and leave no trace in the log of changes."""

from collections.abc import Iterator
from contextlib import contextmanager

from moorage.schedule.candidates import Candidates


@contextmanager
def glimpse(candidates: Candidates) -> Iterator[None]:
    """Rewind the change log after a block that leaves the cluster as it was.

    Only the deciding filters may be asked inside, and only about single slots. Wide ones among them follow the log
    while they are asked, so with them it is not rewound.
    """
    changes = candidates.cluster.nodes.changes
    position, was_trial = changes.position, changes.is_trial
    changes.is_trial = True
    try:
        yield
    finally:
        changes.is_trial = was_trial
        if all(item.plugin.local for item in candidates.deciding):
            changes.rewind(position)
