"""Remove duplicate owner references, with a warning.

Kubernetes: the deduplication in the handlers of create, update and patch.
"""

from typing import Any

Raw = dict[str, Any]

_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def name_owners_once(metadata: Raw, *, is_patch: bool = False) -> list[str]:
    """Deduplicate in `metadata`, which is modified, though not its lists; return the warnings."""
    owners = metadata.get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    once: list[Any] = []
    repeated = []
    for owner in owners:
        if owner in once and isinstance(owner, dict):
            repeated.append(str(owner.get("uid") or ""))
        else:
            once.append(owner)
    if not repeated:
        return []
    metadata["ownerReferences"] = once
    when = " after mutating admission happens" if is_patch else ""
    return [_WARNING.format(when=when, uids=", ".join(repeated))]
