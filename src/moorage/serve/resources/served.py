"""List what an API server serves: the kinds whose gates are on, and those of custom resource definitions.

What is rendered of it, such as discovery, is remembered until it changes. Kubernetes: the installed API groups, the
CRD handler's map of definitions.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from functools import cache, cached_property
from typing import Any, Final, TypeVar

from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS, VIRTUAL_KINDS, CustomKind, Kind

Made = TypeVar("Made")

#: The order of groups, in which clients try them for a short name: larger numbers first, and by name where they are the
#: same. Custom groups come last. They are the `groupPriorityMinimum` of the groups' APIServices.
GROUP_PRIORITIES: Final = {
    "": 18000,
    "apiregistration.k8s.io": 17900,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
CUSTOM_PRIORITY: Final = 1000


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")


def _position(kind: Kind) -> tuple[int, str, tuple[int, int, int, str], str]:
    """The place of a kind: by group, then stable versions before beta and alpha ones, newer before older."""
    is_custom = isinstance(kind, CustomKind)
    priority = CUSTOM_PRIORITY if is_custom else GROUP_PRIORITIES.get(kind.group, CUSTOM_PRIORITY)
    return -priority, kind.group, version_priority(kind.version), kind.plural


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Return the key by which versions are sorted: stable ones, beta, alpha, then names of any other form."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    major, stage, minor = found.groups()
    return (None, "beta", "alpha").index(stage), -int(major), -int(minor or 0), version


#: (group, version, plural) → kind, in the order in which discovery lists them.
RESOURCES: Final[dict[tuple[str, str, str], Kind]] = {
    (kind.group, kind.version, kind.plural): kind for kind in sorted((*KINDS.values(), *VIRTUAL_KINDS), key=_position)
}


@cache
def resources(gates: GateSet) -> dict[tuple[str, str, str], Kind]:
    """Return what an API server with these gates serves: as `RESOURCES`, and kinds in their older versions."""
    served = [kind for kind in RESOURCES.values() if kind.gate is None or gates.enabled(kind.gate)]
    older = [kind.in_version(version) for kind in served for version in kind.older_versions]
    return {(kind.group, kind.version, kind.plural): kind for kind in sorted((*served, *older), key=_position)}


class Resources:
    """What one API server serves, in the order of discovery. Custom kinds come and go."""

    def __init__(self, gates: GateSet) -> None:
        self.gates = gates
        self._built_in = resources(gates)
        self._custom: dict[str, tuple[CustomKind, ...]] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._listeners: list[Callable[[], object]] = []

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self.table.get((group, version, plural))

    def custom_kind(self, api_version: str, name: str) -> CustomKind | None:
        return self._by_name.get((api_version, name))

    @property
    def custom(self) -> Iterable[CustomKind]:
        return self._by_name.values()

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], CustomKind]:
        return {(one.api_version, one.name): one for several in self._custom.values() for one in several}

    @cached_property
    def table(self) -> dict[tuple[str, str, str], Kind]:
        """Group, version and plural → kind, in the order of discovery."""
        if not self._custom:
            return self._built_in
        order = sorted((*self._built_in.values(), *self._by_name.values()), key=_position)
        return {(kind.group, kind.version, kind.plural): kind for kind in order}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the table that are served, without their older versions."""
        return tuple(kind for kind in RESOURCES.values() if kind.gate is None or self.gates.enabled(kind.gate))

    def serve(self, definition: str, kinds: Iterable[CustomKind]) -> None:
        """Serve these kinds, one for each version, in place of those that the definition had before."""
        found = tuple(kinds)
        found = tuple(one for one in found if (one.group, one.version, one.plural) not in self._built_in)
        if not found and definition not in self._custom:
            return
        if found:
            self._custom[definition] = found
        else:
            del self._custom[definition]
        self._remembered.clear()
        for name in ("table", "groups", "_by_name"):
            self.__dict__.pop(name, None)
        for tell in self._listeners:
            tell()

    def when_changed(self, tell: Callable[[], object]) -> None:
        self._listeners.append(tell)

    @cached_property
    def groups(self) -> dict[str, dict[str, list[Kind]]]:
        """The kinds by group and version."""
        found: dict[str, dict[str, list[Kind]]] = {}
        for (group, version, _), kind in self.table.items():
            found.setdefault(group, {}).setdefault(version, []).append(kind)
        return found

    def remembered(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made for this key since the last change."""
        if key not in self._remembered:
            self._remembered[key] = make()
        made: Made = self._remembered[key]
        return made


#: An API server with the default gates and no custom kinds.
BUILT_IN: Final = Resources(default_gates())
