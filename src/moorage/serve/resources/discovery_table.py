"""List the resources that the API serves, in the order of discovery; discovery and routing both read it.

Differs: what Moorage does not serve (pods/exec, …) is not listed.
"""

from typing import Final

from moorage.model.kinds import KINDS, VIRTUAL_KINDS, Kind

#: The order in which clients try groups for a short name; other groups come after, by name.
GROUP_ORDER: Final = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)


def _position(kind: Kind) -> tuple[int, str, str]:
    position = GROUP_ORDER.index(kind.group) if kind.group in GROUP_ORDER else len(GROUP_ORDER)
    return position, kind.api_version, kind.plural


#: (group, version, plural) → kind, in the order in which discovery lists them.
RESOURCES: Final[dict[tuple[str, str, str], Kind]] = {
    (kind.group, kind.version, kind.plural): kind for kind in sorted((*KINDS.values(), *VIRTUAL_KINDS), key=_position)
}
