"""Pods that are bound as others of their template were: written down on their node without being read again.

In: a stored pod, a Binding, the time. Out: the pod's value and view on the node; or nothing, if something may be
against it, or nobody knows yet what becomes of a pod like it. All that follows the metadata is, byte by byte, the same
for all pods of a template that nobody has touched since they were made, and so is what becomes of it, but for the node
and the time. A value that ends as another does means the same there: such an end closes exactly the one brace
that every value begins with, so it cannot begin inside of anything.
Kubernetes: nothing of the sort.
"""

from secrets import token_hex

import msgspec

from moorage.admit.raw import Raw
from moorage.admit.subresources.binding import bind_pod
from moorage.model.types.meta import ObjectReference
from moorage.model.types.pod import Pod, PodSpec
from moorage.model.types.pod_status import PodStatus
from moorage.model.types.subresource import Binding
from moorage.store.protocol import Stored

_MAX_KNOWN = 1024
_encode = msgspec.json.Encoder().encode
_replace = msgspec.structs.replace
#: Words that no pod contains. They stand for the node and the time.
_NODE, _TIME = token_hex(16), token_hex(16)


class _Template:
    """What follows the metadata of its pods, and once one of them was bound, the parts of what that becomes."""

    __slots__ = ("bound_at", "bound_status", "parts", "rest", "spec", "status")

    def __init__(self, view: Pod, rest: bytes) -> None:
        self.spec: PodSpec = view.spec  # by whose identity it is known, for as long as it is kept
        self.status: PodStatus = view.status
        self.rest = rest
        self.parts: tuple[bytes, bytes, bytes] | None = None
        self.bound_at, self.bound_status = "", view.status


class BoundPods:
    """See the module."""

    def __init__(self) -> None:
        self._templates: dict[int, _Template] = {}

    def created(self, view: Pod, rest: bytes) -> None:
        """A pod was made that shares its spec with all of its template, and `rest`, which follows its metadata."""
        if id(view.spec) not in self._templates:
            if len(self._templates) >= _MAX_KNOWN:
                self._templates.clear()
            self._templates[id(view.spec)] = _Template(view, rest)

    def bind(self, stored: Stored, binding: Binding, now: str) -> tuple[bytes, Pod] | None:
        """The value and the view of the pod on the node, if that can be told at once."""
        view, wanted = stored.view, binding.metadata
        template = self._template_of(stored)
        if template is None or template.parts is None or template.bound_at != now:
            return None
        if wanted.resourceVersion or wanted.labels or wanted.annotations or view.metadata.deletionTimestamp:
            return None
        if wanted.uid and wanted.uid != view.metadata.uid:
            return None
        before_node, before_time, after = template.parts
        node = binding.target.name
        value = b"".join(
            (stored.value[: -len(template.rest)], before_node, _encode(node), before_time, now.encode(), after)
        )
        return value, _replace(view, spec=_replace(view.spec, nodeName=node), status=template.bound_status)

    def learn(self, stored: Stored, pod: Raw, bound: Pod, now: str) -> None:
        """A pod was bound the long way: its document before, its view after."""
        template = self._template_of(stored)
        if template is None:
            return
        if template.parts is None:
            marked = bind_pod(pod, Binding(target=ObjectReference(name=_NODE)), _TIME)
            rest = b"," + _encode({name: value for name, value in marked.items() if name != "metadata"})[1:]
            before_node, _, rest = rest.partition(_encode(_NODE))
            before_time, _, after = rest.partition(_TIME.encode())
            if not after or _NODE.encode() in after:
                return  # in another order, or its condition has a time of its own
            template.parts = before_node, before_time, after
        template.bound_at, template.bound_status = now, bound.status

    def _template_of(self, stored: Stored) -> _Template | None:
        """Of a pod that is as it was made."""
        view = stored.view
        template = self._templates.get(id(view.spec)) if isinstance(view, Pod) else None
        if template is None or view.status is not template.status or not stored.value.endswith(template.rest):
            return None
        return template
