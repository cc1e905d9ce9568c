"""Finalize a namespace: the last step of its deletion, once it is empty.

Kubernetes: the finalize subresource of namespaces.
"""

from typing import Any

from moorage.admit.raw import copy_document
from moorage.admit.subresources.status_update import finalize_namespace
from moorage.model.kinds import KINDS, Ref
from moorage.serve.api import Api, admitted, check_types
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.changing import Changed, change, check_name, expected_revision

Raw = dict[str, Any]

_NAMESPACE = KINDS["v1", "Namespace"]


async def finalize(api: Api, name: str, raw: Raw, *, dry_run: bool = False) -> Raw:
    check_types(raw, _NAMESPACE)
    check_name(raw["metadata"], name)
    expected = expected_revision(_NAMESPACE, name, raw)

    def make(old: Raw, old_view: Any) -> Changed:
        return Changed(admitted(finalize_namespace(copy_document(raw), old, api.gates)), expected)

    outcome = await change(api, Ref(_NAMESPACE, "", name), make, dry_run=dry_run)
    return decode(_NAMESPACE, outcome.stored)
