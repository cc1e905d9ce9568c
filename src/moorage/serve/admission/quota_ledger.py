"""Charge writes to the ResourceQuotas of their namespace: no two requests get the last unit.

What a write needs is checked against what is used and about to be, in one turn of the event loop, then written into the
quota's status before the object is; requests that come meanwhile are written together. If another server charged the
same quota first, what no longer fits is refused. A charge whose write fails is returned when the quota controller
counts again. A controller that counted before the newest objects were in its cache does not lower `used` below what was
charged lately for objects that still exist: what it takes away is taken from the newest charges, which all servers see
in the same order, and each server adds its own ones again. Kubernetes: quotaEvaluator of the ResourceQuota plugin.
Differs: there usage may be lost to such a count for five minutes.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.quota import QuotaBalance, QuotaCharge, charges_of, check_quota
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, failure, forbidden
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import ResourceAmounts, add_amounts, difference
from moorage.model.schema.conversion import convert_view
from moorage.model.types.policy import ResourceQuota
from moorage.serve.resources.objects import cached_view, decode, encode, key_of, prefix_of
from moorage.store.protocol import KeyMissing, RevisionMismatch, Store, StoreError

_TRIES = 100
#: For so long a count may not know an object that was charged.
_RECENT_SECONDS = 2.0
_replace = msgspec.structs.replace


class _Posting:
    """Amounts to be added to a quota for an object; `done` is settled when they are written."""

    __slots__ = ("amounts", "done", "key")

    def __init__(self, amounts: ResourceAmounts, key: str, done: "asyncio.Future[None]") -> None:
        self.amounts, self.key, self.done = amounts, key, done


class _Restored(_Posting):
    """What another writer took away of postings that were made lately, to be added again where their objects exist."""

    __slots__ = ("recent", "time")

    def __init__(
        self, taken: ResourceAmounts, recent: list[_Posting], time: float, done: "asyncio.Future[None]"
    ) -> None:
        super().__init__(_least(taken, recent), "", done)
        self.recent, self.time = recent, time


class _Entry:
    """What one write added to a quota, and when. `postings` are those of this server; another server's has none."""

    __slots__ = ("amounts", "postings", "time")

    def __init__(self, time: float, amounts: ResourceAmounts, postings: list[_Posting]) -> None:
        self.time, self.amounts, self.postings = time, amounts, postings


class _Account:
    """A quota as it is stored, what is being added to it, and what was lately."""

    def __init__(self, view: ResourceQuota) -> None:
        self.view = view
        self.waiting: list[_Posting] = []
        self.writing: list[_Posting] = []
        self.pending: ResourceAmounts = {}  # of both, together
        self.offered: ResourceQuota | None = None  # what is being written
        self.recent: deque[_Entry] = deque()  # of all servers, in the order of their writes
        self.task: asyncio.Task[None] | None = None

    @property
    def balance(self) -> QuotaBalance:
        used = dict(self.view.status.used)
        add_amounts(used, self.pending)
        return QuotaBalance(self.view, used)

    def add(self, posting: _Posting) -> None:
        self.waiting.append(posting)
        add_amounts(self.pending, posting.amounts)

    def count(self, postings: list[_Posting]) -> None:
        """Take these for all that is pending."""
        self.pending = {}
        for posting in postings:
            add_amounts(self.pending, posting.amounts)


class QuotaLedger:
    """The quotas of all namespaces. Call `learn` and `forget` for every write of a quota."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        #: By namespace and name. A namespace without quotas is not in it.
        self.accounts: dict[str, dict[str, _Account]] = {}

    def learn(self, kind: Kind, view: ResourceQuota) -> None:
        namespace, name = view.metadata.namespace, view.metadata.name
        known = self.accounts.setdefault(namespace, {}).get(name)
        if known is None:
            self.accounts[namespace][name] = _Account(view)
            return
        old, known.view = known.view, view
        now = self._clock()
        while known.recent and known.recent[0].time < now - _RECENT_SECONDS:
            known.recent.popleft()
        if view is known.offered:  # which has what is being written
            known.recent.extend(_entries(known.writing, now))
            known.count(known.waiting)
            return
        if old.metadata.uid == view.metadata.uid:
            self._follow(namespace, known, old.status.used, view.status.used, now)

    def _follow(
        self, namespace: str, account: _Account, before: ResourceAmounts, after: ResourceAmounts, now: float
    ) -> None:
        """Remember what another writer added, and add again what it took away of our own charges."""
        changed = {name: difference(after[name], before[name]) for name in after if name in before}
        added = {name: amount for name, amount in changed.items() if amount.sign() > 0}
        if added:
            account.recent.append(_Entry(now, added, []))
        taken = {name: difference(before[name], after[name]) for name, amount in changed.items() if amount.sign() < 0}
        entries = [entry for entry in account.recent if entry.time >= now - _RECENT_SECONDS]
        ours, postings, time = _own_share(taken, entries)
        if not ours:
            return
        restored = _Restored(ours, postings, time, asyncio.get_running_loop().create_future())
        if restored.amounts:
            self._post(namespace, account, restored)

    def forget(self, kind: Kind, view: ResourceQuota) -> None:
        accounts = self.accounts.get(view.metadata.namespace, {})
        accounts.pop(view.metadata.name, None)
        if not accounts:
            self.accounts.pop(view.metadata.namespace, None)

    def check(self, kind: Kind, namespace: str, name: str, new: Any, old: Any, subresource: str) -> list[QuotaCharge]:
        """Return what a write is to be charged. Raises ApiError 403."""
        return charges_of(kind, name, new, old, self.balances(namespace), subresource, self._clock())

    def balances(self, namespace: str) -> list[QuotaBalance]:
        """Return the quotas of a namespace, by name, with what is used of them and what is being charged."""
        accounts = self.accounts.get(namespace)
        return [accounts[name].balance for name in sorted(accounts)] if accounts else []

    async def charge(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        new: Any,
        old: Any = None,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> None:
        """Charge a write before it is made; `old` is None for an object that is created. Raises ApiError."""
        charges = self.check(kind, namespace, name, new, old, subresource)
        if dry_run or not charges:
            return
        accounts, loop = self.accounts[namespace], asyncio.get_running_loop()
        key = key_of(kind, namespace, name)
        written: list[asyncio.Future[None]] = []
        for quota, amounts in charges:
            done = loop.create_future()
            written.append(done)
            self._post(namespace, accounts[quota], _Posting(amounts, key, done))
        for outcome in await asyncio.gather(*written, return_exceptions=True):
            if isinstance(outcome, Forbidden):
                raise forbidden(kind, name, str(outcome)) from None
            if outcome is not None:
                raise outcome

    def _post(self, namespace: str, account: _Account, posting: _Posting) -> None:
        account.add(posting)
        if account.task is None:
            account.task = asyncio.get_running_loop().create_task(self._write_all(namespace, account))

    async def _write_all(self, namespace: str, account: _Account) -> None:
        try:
            while account.waiting:
                batch, account.waiting = account.waiting, []
                account.writing = list(batch)
                error: Exception | None = None
                try:
                    await self._write(namespace, account)
                except (StoreError, ApiError) as failed:
                    error = failed
                account.writing, account.offered = [], None
                account.count(account.waiting)
                for posting in batch:
                    _settle(posting, error)
        finally:
            account.task = None

    async def _write(self, namespace: str, account: _Account) -> None:
        """Add what is being written to the stored quota; refuse what no longer fits. Raises StoreError, ApiError."""
        key = f"{prefix_of(KINDS.RESOURCE_QUOTA)}{namespace}/{account.view.metadata.name}"
        stored = await self._store.get(key)
        for posting in account.writing:
            if isinstance(posting, _Restored):
                existing = [one for one in posting.recent if await self._store.get(one.key) is not None]
                posting.amounts = _least(posting.amounts, existing)
        for _ in range(_TRIES):
            if stored is None:
                return
            raw = decode(KINDS.RESOURCE_QUOTA, stored)
            view: ResourceQuota = convert_view(raw, ResourceQuota)
            used = dict(view.status.used)
            for posting in list(account.writing):
                try:
                    if not isinstance(posting, _Restored):
                        check_quota(view, used, posting.amounts)
                except Forbidden as refusal:
                    account.writing.remove(posting)
                    _settle(posting, refusal)
                else:
                    add_amounts(used, posting.amounts)
            if used == view.status.used:
                return
            raw, view = with_used(raw, view, used)
            account.offered = view = cached_view(KINDS.RESOURCE_QUOTA, view)
            try:
                await self._store.update(key, encode(KINDS.RESOURCE_QUOTA, raw), stored.revision, view)
            except KeyMissing:
                return
            except RevisionMismatch as mismatch:
                stored = mismatch.found
                account.count([*account.writing, *account.waiting])  # the same may have been written by another server
            else:
                return
        raise failure(500, "InternalError", "Internal error occurred: resource quota evaluation timed out")


def with_used(raw: Raw, view: ResourceQuota, used: ResourceAmounts) -> tuple[Raw, ResourceQuota]:
    """Return the document and the view of a quota of which so much is used."""
    status = {**(raw.get("status") or {}), "used": {name: str(used[name]) for name in sorted(used)}}
    return {**raw, "status": status}, _replace(view, status=_replace(view.status, used=used))


def _entries(written: list[_Posting], now: float) -> Iterator[_Entry]:
    """Yield what was written: what was restored counts from when it was charged first."""
    charged = [posting for posting in written if not isinstance(posting, _Restored)]
    amounts: ResourceAmounts = {}
    for posting in charged:
        add_amounts(amounts, posting.amounts)
    for posting in written:
        if isinstance(posting, _Restored):
            yield _Entry(posting.time, dict(posting.amounts), posting.recent)
    if charged:
        yield _Entry(now, amounts, charged)


def _own_share(taken: ResourceAmounts, entries: list[_Entry]) -> tuple[ResourceAmounts, list[_Posting], float]:
    """Take amounts away from the newest entries; return what of it was ours, its postings and when they were made."""
    ours: ResourceAmounts = {}
    postings: dict[int, _Posting] = {}
    time = 0.0
    for name, left in taken.items():
        for entry in reversed(entries):
            if left.sign() <= 0:
                break
            if name not in entry.amounts:
                continue
            part = min(entry.amounts[name], left)
            entry.amounts[name], left = difference(entry.amounts[name], part), difference(left, part)
            if entry.postings:
                add_amounts(ours, {name: part})
                postings |= {id(posting): posting for posting in entry.postings}
                time = max(time, entry.time)
    return ours, list(postings.values()), time


def _least(taken: ResourceAmounts, postings: list[_Posting]) -> ResourceAmounts:
    """Return what was taken away of what was posted."""
    posted: ResourceAmounts = {}
    for posting in postings:
        add_amounts(posted, posting.amounts)
    least = {name: min(amount, posted[name]) for name, amount in taken.items() if name in posted}
    return {name: amount for name, amount in least.items() if amount.sign() > 0}


def _settle(posting: _Posting, error: Exception | None) -> None:
    if posting.done.done():
        return
    if error is None or isinstance(posting, _Restored):
        posting.done.set_result(None)
    else:
        posting.done.set_exception(error)
