"""Finalize: the last step of a namespace's deletion, once it is empty.

In: a namespace whose spec.finalizers are those that are left. Out: the namespace, or what it was before it went.
Kubernetes: the finalize subresource of namespaces. Next: `changing`, which removes what waits for nothing any more.
"""

from typing import Any

from moorage.admit.admission import Admitted
from moorage.model.conversion import convert_view
from moorage.model.kinds import KINDS
from moorage.serve.api import Api, check_types
from moorage.serve.objects import decode
from moorage.serve.verbs.changing import Changed, change, expected_revision

Raw = dict[str, Any]

_NAMESPACE = KINDS["v1", "Namespace"]


async def finalize(api: Api, name: str, raw: Raw, *, dry_run: bool = False) -> Raw:
    check_types(raw, _NAMESPACE)
    expected = expected_revision(_NAMESPACE, name, raw)

    def make(old: Raw) -> Changed:
        finalizers = (raw.get("spec") or {}).get("finalizers") or []
        new = {**old, "spec": {**(old.get("spec") or {}), "finalizers": finalizers}}
        return Changed(Admitted(new, convert_view(new, _NAMESPACE.view)), expected)

    outcome = await change(api, _NAMESPACE, "", name, make, dry_run=dry_run)
    return decode(_NAMESPACE, outcome.stored)
