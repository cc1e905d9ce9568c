"""Report the store's health as ComponentStatuses.

Kubernetes: pkg/registry/core/componentstatus, which asks etcd, the scheduler and the controller manager on this
machine. Differs: only the store is reported.
"""

import msgspec

from moorage.model.api_error import ApiError, failure
from moorage.model.kinds import COMPONENT_STATUS
from moorage.serve.verbs.reading import Page
from moorage.store.protocol import Stored

_STORE = "etcd-0"
_CONDITION = {"type": "Healthy", "status": "True", "message": "ok"}


def components() -> Page:
    return Page([_healthy(_STORE)], 0)


def component(name: str) -> Stored:
    """Raises ApiError 404."""
    if name != _STORE:
        raise _no_component(name)
    return _healthy(name)


def _no_component(name: str) -> ApiError:
    details = {"name": name, "kind": COMPONENT_STATUS.singular}
    return failure(404, "NotFound", f'{COMPONENT_STATUS.singular} "{name}" not found', details)


def _healthy(name: str) -> Stored:
    document = {"metadata": {"name": name}, "kind": "ComponentStatus", "apiVersion": "v1", "conditions": [_CONDITION]}
    return Stored(name, msgspec.json.encode(document), 0, 0)
