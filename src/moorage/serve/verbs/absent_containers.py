"""Refuse what needs a container that runs: logs, commands, ports, requests to be passed on."""

from typing import Final

from moorage.model.api_error import bad_request
from moorage.serve.http.messages import Request, Response
from moorage.serve.resources.served import Target
from moorage.serve.verbs.api import Api
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


async def refuse_container(api: Api, target: Target, request: Request, manager: str) -> Response:
    """Refuse with the reason, if there is such an object at all."""
    await get(api, target.ref)
    and_so = " and write nothing" if target.subresource == "log" else ""
    what = f'{target.kind.singular} "{target.name}" has no {WANTED[target.subresource]}'
    raise bad_request(f"{what}: {_NEVER_RUN}{and_so}")
