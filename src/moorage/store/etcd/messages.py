"""Name what is sent to etcd and what it answers. Kubernetes: etcd's api/etcdserverpb and api/mvccpb.

`requests` and `answers` turn these into bytes and back.
"""

from typing import NamedTuple


class KeyValue(NamedTuple):
    """A key, its value, and the revisions that created and last modified it. Deleted: no value, and `created` 0."""

    key: bytes
    value: bytes
    created: int
    modified: int
    lease: int = 0


class RangeResult(NamedTuple):
    """Keys in order, as of `revision`. `count` is how many there are without a limit, `has_more` if it cut any off."""

    items: list[KeyValue]
    revision: int
    count: int  # type: ignore[assignment]  # etcd's word, and a tuple's
    has_more: bool


class Compare(NamedTuple):
    """A condition: the key was last modified at this revision; 0 means that it does not exist."""

    key: bytes
    modified: int


class Put(NamedTuple):
    """Write a value."""

    key: bytes
    value: bytes
    lease: int = 0


class Get(NamedTuple):
    """Read a key."""

    key: bytes


class Delete(NamedTuple):
    """Delete a key, or with `end` all keys from `key` up to but without `end`."""

    key: bytes
    end: bytes = b""


Operation = Put | Get | Delete


class TxnResult(NamedTuple):
    """Whether the conditions held, etcd's revision afterwards, and what each executed `Get` found."""

    succeeded: bool
    revision: int
    found: tuple[KeyValue | None, ...]


class WatchedEvent(NamedTuple):
    """A key was written, or deleted at `item.modified`."""

    is_delete: bool
    item: KeyValue


class WatchResult(NamedTuple):
    """What a watch says next: events in order, or `compacted`, or neither: progress.

    With progress, every event up to `revision` has been delivered. With `compacted`, the watch has ended because
    history before that revision is gone.
    """

    revision: int
    events: list[WatchedEvent]
    compacted: int = 0


class MemberStatus(NamedTuple):
    """One member's answer about itself. `leader` is 0 if it knows none; `alarms` are names such as NOSPACE."""

    version: str
    size: int
    size_in_use: int
    alarms: tuple[str, ...]
    leader: int
    member: int
    revision: int
    raft_term: int
    is_learner: bool
