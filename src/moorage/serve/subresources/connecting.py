"""Refuse what needs a container that runs: logs, commands, ports, requests to be passed on.

Admission is asked before, as in Kubernetes: a policy or webhook may refuse to let a user connect at all.
Kubernetes: ConnectResource, ExecREST, AttachREST, PortForwardREST, LogREST, ProxyREST.
"""

from typing import Final

from moorage.admit.extension.attributes import CONNECT
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.raw import Raw
from moorage.model.api_error import bad_request
from moorage.model.go.integers import INT32_MAX, INT32_MIN, read_int
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.http.messages import Request, Response, is_flag_set
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.served import Target
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.extended_writes import carried_out, remarked
from moorage.serve.verbs.reading import get

_NEVER_RUN = "Moorage simulates nodes, so containers are never run"
#: What there is not, by subresource.
WANTED: Final = {
    "attach": "container to attach to",
    "exec": "container to run a command in",
    "log": "log",
    "portforward": "container to forward a port to",
    "proxy": "container to send requests to",
}
_OF_CONTAINERS = ("attach", "exec", "log")
_STREAMS = ("stdin", "stdout", "stderr", "tty")


async def refuse_container(api: Api, target: Target, request: Request, manager: str) -> Response:
    """Refuse with the reason, if there is such an object at all."""
    if target.subresource != "log":
        options = WriteOptions(user=request.user)
        extended = extended_request(api.admission, CONNECT, *target.ref, target.subresource, options)
        if extended is not None:
            await remarked(api, extended, _ask(api, extended, connect_options(target, request)))
    stored = await get(api, target.ref)
    if target.kind is KINDS.POD and stored.view is not None and target.subresource in _OF_CONTAINERS:
        check_container(stored.view, request.query.get("container") or "")
    if target.kind is KINDS.POD and stored.view is not None and not stored.view.spec.nodeName:
        if target.subresource == "log":
            return Response(204, b"")
        if target.subresource == "proxy":
            raise bad_request("address not allowed")
        raise bad_request(f"pod {target.name} does not have a host assigned")
    and_so = " and write nothing" if target.subresource == "log" else ""
    what = f'{target.kind.singular} "{target.name}" has no {WANTED[target.subresource]}'
    raise bad_request(f"{what}: {_NEVER_RUN}{and_so}")


def check_container(pod: Pod, name: str) -> None:
    """Raise ApiError unless a request names a container of a pod, or the pod has only one."""
    spec = pod.spec
    if not name and len(spec.containers) == 1:
        return
    names = [each.name for each in (*spec.initContainers, *spec.containers, *spec.ephemeralContainers)]
    if not name:
        raise bad_request(
            f"a container name must be specified for pod {pod.metadata.name}, choose one of: [{' '.join(names)}]"
        )
    if name not in names:
        raise bad_request(f"container {name} is not valid for pod {pod.metadata.name}")


async def _ask(api: Api, extended: ExtendedRequest, document: Raw) -> None:
    document = await carried_out(api, extended.change(document, None))
    await carried_out(api, extended.check(document, None))


def connect_options(target: Target, request: Request) -> Raw:
    """Return the options of a connection as a document: the parameters of its query."""
    below = target.kind.subresource(target.subresource)
    document: Raw = {"apiVersion": target.kind.api_version, "kind": below.kind if below is not None else ""}
    query, subresource = request.query, target.subresource
    if subresource == "proxy":
        path = request.path.partition(f"/{target.name}/proxy/")[2].strip("/")
        end = "/" if request.path.endswith("/") else ""
        return {**document, "path": f"/{path}{end if path else ''}"} if path or end else document
    if subresource == "portforward":
        ports = [number for text in query.all("ports") if (number := read_int(text, INT32_MIN, INT32_MAX)) is not None]
        return {**document, "ports": ports} if ports else document
    for name in _STREAMS:
        if name in query and is_flag_set(query.get(name)):
            document[name] = True
    if query.get("container"):
        document["container"] = query.get("container")
    if subresource == "exec" and "command" in query:
        document["command"] = query.all("command")
    return document
