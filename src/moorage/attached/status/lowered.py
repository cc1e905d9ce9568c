"""Report what is lowered, what is wrong with it, and the way over to operators that the cluster knows itself.

Kubernetes: KEP-5471 is native where its gate is on. Differs: nothing goes over by itself, because that is a rollout.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from moorage.attach import formats
from moorage.attached.controller.lowered_pods import TEMPLATE_KINDS
from moorage.attached.controller.repairing import Fault
from moorage.attached.status.finding import Item, Section, fine, note, section, unknown, wrong
from moorage.attached.status.lowered_objects import LoweredObject, Reliance
from moorage.attached.status.snapshot import LOWERED_KINDS, Snapshot
from moorage.model.kinds import KINDS

_MOST_SHOWN: Final = 20
_TEMPLATE: Final = {kind.name: kind.template or () for kind in TEMPLATE_KINDS}


def check_lowered(snapshot: Snapshot, found: Sequence[LoweredObject]) -> Section:
    """Count what is lowered, and name what is inconsistent."""
    items: list[Item] = [unknown(f"{plural}: {why}") for plural, why in _unread(snapshot)]
    live = [each for each in found if not each.is_history]
    kinds = Counter(each.kind for each in live)
    if not live:
        items.append(fine("nothing is lowered"))
    for kind, number in kinds.items():
        relying = Counter(reliance for each in live if each.kind == kind for reliance in each.relies_on)
        on = ", ".join(f"{each.value} {relying[each]:,}" for each in Reliance if relying[each])
        items.append(fine(f"{kind}: {number:,} lowered" + (f", relying on: {on}" if on else "")))
    old = sum(each.is_history for each in found)
    if old:
        items.append(fine(f"{old:,} revision{'' if old == 1 else 's'} with a lowered template, for rollbacks"))
    items += _faults(live)
    return section("lowered", items, objects=[each.as_json() for each in found])


def _unread(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for kind in LOWERED_KINDS:
        if kind.plural in snapshot.unread:
            yield kind.plural, snapshot.unread[kind.plural]


def _faults(found: Iterable[LoweredObject]) -> Iterator[Item]:
    faulty = [each for each in found if each.fault is not None]
    for each in faulty[:_MOST_SHOWN]:
        assert each.fault is not None
        yield wrong(f"{each.shown}: {each.fault.text}", _mend(each))
    if len(faulty) > _MOST_SHOWN:
        yield wrong(f"{len(faulty) - _MOST_SHOWN:,} more objects are inconsistent: -o json lists them")


def _mend(lowered: LoweredObject) -> str:
    assert lowered.fault is not None
    where = f"kubectl -n {lowered.namespace}"
    if lowered.fault.fault is Fault.NO_MARKER and lowered.kind == KINDS.POD.name:
        return f"{where} annotate pod {lowered.name} {formats.TOLERATIONS}-"
    if lowered.kind == KINDS.POD.name:
        return f"{where} delete pod {lowered.name}"
    return f"apply the manifest of {lowered.shown} again"


# -- the way over ------------------------------------------------------------------------------------------------------


def check_way_over(snapshot: Snapshot, found: Sequence[LoweredObject], *, has_webhook: bool) -> Section | None:
    """Propose to give back what the cluster knows itself; None if it knows nothing of it, or nothing is left."""
    native = snapshot.native
    if not native:
        return None
    known = ", ".join(sorted(native))
    ready = [each for each in found if not each.is_history and not each.owner and _is_known(each, native)]
    if not ready:
        return section("native", [fine(f"{known}: known to the cluster, and no lowered object compares by these only")])
    gate = "every API server, scheduler and controller manager has to have the gate"
    items = [note(f"{len(ready):,} lowered objects could be native ({known}); each is a rollout, and {gate}")]
    for each in ready[:_MOST_SHOWN]:
        items.append(note(each.shown, over_command(each, has_webhook=has_webhook)))
    if len(ready) > _MOST_SHOWN:
        items.append(note(f"{len(ready) - _MOST_SHOWN:,} more: -o json lists them"))
    rows = [{**each.as_json(), "command": over_command(each, has_webhook=has_webhook)} for each in ready]
    return section("native", items, ready=rows)


def _is_known(lowered: LoweredObject, native: frozenset[str]) -> bool:
    """Whether the cluster knows all that an object compares."""
    comparing = lowered.comparing
    return (
        bool(comparing)
        and Reliance.VERSION_LABELS not in lowered.relies_on
        and all(each.get("operator") in native for each in comparing)
    )


def over_command(lowered: LoweredObject, *, has_webhook: bool = True) -> str:
    """Return the command that gives the comparisons of an object back to the cluster.

    The policy that lowers cannot bring back what was lowered: the manifest has to.
    """
    where = f"kubectl -n {lowered.namespace}"
    if not has_webhook and lowered.kind not in (KINDS.POD.name, KINDS.JOB.name):
        return f'apply its manifest with the annotation {formats.NATIVE}: "{formats.TRUE}" on the pod template'
    if lowered.kind in (KINDS.POD.name, KINDS.JOB.name):
        return f"{where} delete {lowered.kind.lower()} {lowered.name}, and create it again from its manifest"
    patch = f'{{"metadata":{{"annotations":{{"{formats.NATIVE}":"{formats.TRUE}"}}}}}}'
    for name in reversed(_TEMPLATE[lowered.kind]):
        patch = f'{{"{name}":{patch}}}'
    return f"{where} patch {lowered.kind.lower()} {lowered.name} --type=merge -p '{patch}'"
