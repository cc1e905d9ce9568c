"""Compare the objects of an installation with what `install` prints for its settings: absent, or where they differ.

Kubernetes: kubectl diff. Differs: what others have added, and defaults, are no difference; labels of the release and
what can be chosen for the Deployments are left out.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from moorage.attached.install.parts import WHY_ANNOTATION, manifests
from moorage.attached.install.settings import VERSION_LABEL, Installation
from moorage.attached.status.installed import release_of
from moorage.attached.status.snapshot import Snapshot
from moorage.model.kinds import KINDS, Kind, kind_of

Raw = dict[str, Any]

_LEFT_OUT: Final = (VERSION_LABEL, WHY_ANNOTATION)
#: What is compared is in the snapshot; certificates of cert-manager are not.
_NOT_COMPARED: Final = (KINDS.NAMESPACE,)
_WITHOUT_LABELS: Final = (KINDS.MUTATING_ADMISSION_POLICY, KINDS.MUTATING_ADMISSION_POLICY_BINDING)


class Compared(NamedTuple):
    """An object as it is printed, and how the live one differs: not at all, at a path, or `absent`.

    `release` is that of the live object. `unread`: why nothing is known of it.
    """

    kind: Kind
    printed: Raw
    live: Raw | None
    difference: str = ""
    unread: str = ""

    @property
    def name(self) -> str:
        return str(self.printed["metadata"]["name"])

    @property
    def release(self) -> str:
        return release_of(self.live)


def compared(snapshot: Snapshot, installation: Installation) -> list[Compared]:
    """Return every object that the installation has to have."""
    return list(_compared(snapshot, installation))


def _compared(snapshot: Snapshot, installation: Installation) -> Iterator[Compared]:
    for printed in manifests(installation):
        kind = kind_of(printed)
        if kind is None:
            continue
        if why := snapshot.why_unread(kind):
            yield Compared(kind, printed, None, unread=why)
            continue
        metadata = printed["metadata"]
        live = snapshot.find(kind, metadata["name"], metadata.get("namespace", ""))
        if live is None:
            yield Compared(kind, printed, None)
        else:
            yield Compared(
                kind, printed, live, "" if kind in _NOT_COMPARED else difference(_asked(kind, printed), live)
            )


def _asked(kind: Kind, printed: Raw) -> Raw:
    """Return what a live object has to have: policies need no labels, and `attach policies` prints none."""
    if kind not in _WITHOUT_LABELS:
        return printed
    metadata = {name: value for name, value in printed["metadata"].items() if name != "labels"}
    return {**printed, "metadata": metadata}


def difference(printed: Any, live: Any, path: str = "") -> str:
    """Return where a live object lacks something of what is printed, or has it otherwise; empty if it has all."""
    if isinstance(printed, dict):
        if not isinstance(live, dict):
            return "" if not printed and live is None else f"{path}: {_shown(live)} instead of a map"
        for name, value in printed.items():
            if name in _LEFT_OUT:
                continue
            if found := difference(value, live.get(name), f"{path}.{name}" if path else name):
                return found
        return ""
    if isinstance(printed, list):
        there = live if isinstance(live, list) else []
        if len(there) != len(printed):
            return f"{path}: {len(there)} instead of {len(printed)} items"
        items = (
            difference(one, other, f"{path}[{index}]")
            for index, (one, other) in enumerate(zip(printed, there, strict=True))
        )
        return next(filter(None, items), "")
    if printed != live and not (printed in ("", False) and live is None):
        return f"{path}: {_shown(live)} instead of {_shown(printed)}"
    return ""


_LONGEST: Final = 60


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
