"""Check a store: every value is an object of its key's kind, names agree, owners, addresses and claims fit.

An error is something that an API server would not serve rightly, or that no API server would have written. A note is
something that controllers or the next start put right. Kubernetes: nothing alike; the API server logs what it cannot
decode and leaves it out.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.cluster.transfer.store_content import (
    StoreContent,
    StoredItem,
    layout_of,
    locked_directory,
    opened_etcd,
    read_etcd,
    salvaged_content,
)
from moorage.cluster.transfer.stored_values import stored_problem
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.core import Service
from moorage.model.types.meta import ApiObject, ObjectMeta
from moorage.model.types.view import View
from moorage.serve.admission.service_claims import ADDRESS, claims_of
from moorage.serve.resources.kube_apiserver_values import plain_value, value_problem
from moorage.serve.resources.objects import prefix_of
from moorage.store.etcd.layout import MIGRATION
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.salvage import Salvaged, salvage

_EVENTS, _DEFINITIONS = prefix_of(KINDS.EVENT), prefix_of(KINDS.CUSTOM_RESOURCE_DEFINITION)
_HEAD = b'{"metadata":{"'
ERROR, NOTE = "error", "note"

Raw = dict[str, Any]


class StoreFinding(NamedTuple):
    """One thing that is not as it should be."""

    level: str
    key: str
    problem: str


class StoreReport(NamedTuple):
    """All findings, errors first, and how many objects of each root there are."""

    store: str
    revision: int
    counts: dict[str, int]
    findings: list[StoreFinding]

    @property
    def objects(self) -> int:
        return sum(self.counts.values())

    @property
    def errors(self) -> int:
        return sum(finding.level == ERROR for finding in self.findings)


class _StoredKind(NamedTuple):
    """What is kept under a root: the API versions and the name that its values have."""

    root: str
    api_versions: frozenset[str]
    name: str
    namespaced: bool
    view: type[View]


class _Known(NamedTuple):
    """An object that could be read."""

    item: StoredItem
    kind: _StoredKind
    raw: Raw
    metadata: ObjectMeta
    view: Any


def check_store(content: StoreContent, damage: Sequence[StoreFinding] = ()) -> StoreReport:
    """Check all objects. `damage` is what is wrong with the file, and with objects that could not be read."""
    findings = list(damage)
    if MIGRATION in content.notes:
        findings.append(StoreFinding(ERROR, f"moorage/{MIGRATION}", "a migration into this store was not finished"))
    kinds = _kinds(content)
    known: list[_Known] = []
    counts: Counter[str] = Counter()
    for item in content.items:
        roots = _roots_of(item.key)
        kind = kinds.get(roots[0]) or kinds.get(roots[1])
        counts[kind.root if kind is not None else roots[0]] += 1
        stored = _read(item, kind, content, findings)
        if stored is not None:
            known.append(stored)
    findings += _in_other_form(known, content)
    findings += _check_identities(known)
    services = [(stored.item, stored.view) for stored in known if stored.kind.view is KINDS.SERVICE.view]
    findings += (StoreFinding(*found) for found in check_services(services, content))
    findings.sort(key=lambda finding: (finding.level != ERROR, finding.key, finding.problem))
    return StoreReport(content.title, content.revision, dict(sorted(counts.items())), findings)


def unreadable_keys(content: StoreContent) -> set[str]:
    """Return the keys, as they are shown, of values that no API server could serve as the kind of their key."""
    kinds = _kinds(content)
    unreadable: set[str] = set()
    for item in content.items:
        roots = _roots_of(item.key)
        kind = kinds.get(roots[0]) or kinds.get(roots[1])
        if kind is not None and _read(item, kind, content, []) is None:
            unreadable.add(item.shown)
    return unreadable


def _kinds(content: StoreContent) -> dict[str, _StoredKind]:
    """Return what is kept under each root: the kinds that Moorage knows, and those of the store's definitions."""
    stored = [kind for kind in KINDS.values() if kind not in VIRTUAL_KINDS and kind is not KINDS.REPORTED_EVENT]
    kinds = {
        (root := prefix_of(kind)): _StoredKind(
            root, frozenset([kind.api_version]), kind.name, kind.namespaced, kind.view
        )
        for kind in stored
    }
    for item in content.items:
        if item.key.startswith(_DEFINITIONS):
            kinds |= _defined(item.value)
    return kinds


def _defined(value: bytes) -> dict[str, _StoredKind]:
    try:
        spec = msgspec.json.decode(plain_value(value) or b"{}")["spec"]
        versions = frozenset(f"{spec['group']}/{version['name']}" for version in spec["versions"])
        names, root = spec["names"], f"/{spec['group']}/{spec['names']['plural']}/"
        return {root: _StoredKind(root, versions, names["kind"], spec["scope"] == "Namespaced", ApiObject)}
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
        return {}  # said of the definition itself


def _roots_of(key: str) -> tuple[str, str]:
    """Return the two roots that a key may have: its first word, and its first two."""
    first = key.find("/", 1) + 1
    return key[:first], key[: key.find("/", first) + 1]


def _read(
    item: StoredItem, kind: _StoredKind | None, content: StoreContent, findings: list[StoreFinding]
) -> _Known | None:
    """Decode one value and check it alone; None if it cannot be read."""

    def found(level: str, problem: str) -> None:
        findings.append(StoreFinding(level, item.shown, problem))

    value = plain_value(item.value)
    if value is None:
        found(ERROR, value_problem(item.value))
        return None
    if kind is None:
        found(ERROR, "is of no kind that is known: its CustomResourceDefinition is gone, or the key is wrong")
        return None
    try:
        raw: Raw = msgspec.json.decode(value)
        view: Any = convert_view(raw, kind.view)
        metadata = convert_view(raw["metadata"], ObjectMeta)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        found(ERROR, f"is not JSON: {error}")
        return None
    except ConversionError as error:
        found(ERROR, f"does not decode as {kind.name}: {error.problems[0].reason}")
        return None
    if metadata.resourceVersion:
        found(ERROR, f"has a resourceVersion, {go_quote(metadata.resourceVersion)}, inside its value")
    if raw.get("kind") != kind.name or raw.get("apiVersion") not in kind.api_versions:
        found(ERROR, f"is {_title(raw)}, where {kind.name} of {', '.join(sorted(kind.api_versions))} is kept")
    if item.revision > content.revision:
        found(ERROR, f"is at revision {item.revision}, which the store has not reached")
    if item.key.startswith(_EVENTS) and content.is_etcd and not item.lease:
        found(NOTE, "has no lease, so that it never expires")
    return _Known(item, kind, raw, metadata, view)


def _in_other_form(known: list[_Known], content: StoreContent) -> Iterator[StoreFinding]:
    """Name values that were not written by Moorage: in etcd kube-apiserver may have, a file has no other writer."""
    others = [stored.item.shown for stored in known if not stored.item.value.startswith(_HEAD)]
    if not content.is_etcd:
        yield from (
            StoreFinding(ERROR, key, "does not begin with its metadata, as Moorage writes it") for key in others
        )
    elif others:
        more = len(others) - 1
        these = f"and {more:,} other{'' if more == 1 else 's'} have" if more else "has"
        yield StoreFinding(NOTE, min(others), f"{these} the form in which kube-apiserver writes, which is read as well")


def _title(raw: Raw) -> str:
    return f"{raw.get('kind') or 'an object without a kind'} of {raw.get('apiVersion') or 'no apiVersion'}"


def _check_identities(known: list[_Known]) -> Iterator[StoreFinding]:
    """Check names, namespaces, uids and owners."""
    namespaces = {stored.metadata.name for stored in known if stored.kind.view is KINDS.NAMESPACE.view}
    by_uid: dict[str, _Known] = {}
    for stored in known:
        metadata, shown = stored.metadata, stored.item.shown
        expected = f"{metadata.namespace}/{metadata.name}" if stored.kind.namespaced else metadata.name
        if stored.item.key[len(stored.kind.root) :] != expected:
            yield StoreFinding(ERROR, shown, f"has the name {go_quote(expected)} inside, and another in its key")
        if stored.kind.namespaced and metadata.namespace not in namespaces:
            yield StoreFinding(NOTE, shown, f"is in the namespace {go_quote(metadata.namespace)}, which does not exist")
        if not metadata.uid:
            yield StoreFinding(ERROR, shown, "has no uid")
        elif (other := by_uid.setdefault(metadata.uid, stored)) is not stored:
            yield StoreFinding(ERROR, shown, f"has the uid of {other.item.shown}, {metadata.uid}")
    for stored in known:
        yield from _check_owners(stored, by_uid)


def _check_owners(stored: _Known, by_uid: dict[str, _Known]) -> Iterator[StoreFinding]:
    for owner in stored.metadata.ownerReferences:
        title = f"{owner.kind} {owner.name}"
        owner_here = by_uid.get(owner.uid)
        if owner_here is None:
            yield StoreFinding(
                NOTE, stored.item.shown, f"is garbage, or soon will be: its owner {title} does not exist"
            )
        elif (owner_here.kind.name, owner_here.metadata.name) != (owner.kind, owner.name):
            problem = f"names {title} as its owner, and by uid {owner_here.kind.name} {owner_here.metadata.name}"
            yield StoreFinding(ERROR, stored.item.shown, problem)
        elif owner_here.kind.namespaced and owner_here.metadata.namespace != stored.metadata.namespace:
            yield StoreFinding(ERROR, stored.item.shown, f"has an owner in another namespace, {title}")


def check_directory(path: Path) -> StoreReport:
    """Check a data directory that is not in use, and its file; nothing is changed. Raises TransferError."""
    with locked_directory(path):
        salvaged = salvage(path, stored_problem)
    return check_store(salvaged_content(path, salvaged), list(_damage(path, salvaged)))


def _damage(path: Path, salvaged: Salvaged) -> Iterator[StoreFinding]:
    """Yield what is wrong with the file of a directory, and with its rows."""
    for problem in (salvaged.missing, *salvaged.problems):
        if problem:
            yield StoreFinding(ERROR, str(path), problem)
    for row in (*salvaged.damaged, *salvaged.mended):
        yield StoreFinding(ERROR, row.key, f"at revision {row.revision} {row.problem}")


def check_etcd(settings: EtcdSettings) -> StoreReport:
    """Check what etcd has under its prefix, as of one revision. Raises TransferError."""
    return asyncio.run(_check_etcd(settings))


async def _check_etcd(settings: EtcdSettings) -> StoreReport:
    async with opened_etcd(settings) as client:
        content = await read_etcd(client, layout_of(settings), ",".join(settings.servers))
    return check_store(content)


_CLAIMS = "claims/"

_Found = tuple[str, str, str]


def check_services(services: Sequence[tuple[StoredItem, Service]], content: StoreContent) -> Iterator[_Found]:
    """Yield the level, the key and the problem of each finding."""
    holders: dict[str, StoredItem] = {}
    for item, service in services:
        for claim in claims_of(KINDS.SERVICE, service):
            other = holders.setdefault(claim, item)
            if other is not item:
                yield "error", item.shown, f"has {_claim_title(claim)}, as {other.shown} has"
    claimed = {name[len(_CLAIMS) :]: value for name, value in content.notes.items() if name.startswith(_CLAIMS)}
    for claim, value in claimed.items():
        holder, noted = holders.get(claim), value.decode("utf-8", "backslashreplace")
        note = f"moorage/{_CLAIMS}{claim}"
        if holder is None:
            yield "error", note, f"keeps {_claim_title(claim)} for {noted}, which does not have it"
        elif holder.shown != noted:
            yield "error", note, f"keeps {_claim_title(claim)} for {noted}, but {holder.shown} has it"
    if claimed:  # without any, the next API server to start takes them all
        for claim in holders.keys() - claimed.keys():
            yield (
                "note",
                holders[claim].shown,
                f"has no claim to {_claim_title(claim)}: an API server takes it when it starts",
            )


def _claim_title(claim: str) -> str:
    value = claim.partition("/")[2]
    return f"the cluster IP {value}" if claim.startswith(ADDRESS) else f"the node port {value}"
