"""What is kept in memory beside a value: nothing that nobody reads."""

from typing import Any

from tests.unit.serve.verbs.bench import deployment, document, make, pod

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.api import Api


async def _stored(api: Api, kind: Kind, raw: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    stored = (await make(api, kind, raw)).stored
    return stored.view, decode(kind, stored)


async def test_owners_of_fields_are_in_the_value_and_not_in_the_view(api: Api) -> None:
    for kind, raw in ((KINDS.POD, pod("p1")), (KINDS.POD, pod("p2")), (KINDS.DEPLOYMENT, deployment("d"))):
        view, stored = await _stored(api, kind, raw)
        assert stored["metadata"]["managedFields"]
        assert view.metadata.managedFields == ()
        assert view.metadata.name == stored["metadata"]["name"]


async def test_of_an_event_there_is_no_view(api: Api) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    event = document(KINDS.EVENT, "e", involvedObject=about, reason="R", message="m", type="Normal")
    view, stored = await _stored(api, KINDS.EVENT, event)
    assert view is None
    assert stored["reason"] == "R"


def test_a_clients_view_has_no_managed_fields() -> None:
    body = b'{"metadata":{"name":"p","uid":"u","managedFields":[{"manager":"me"}]},"spec":{}}'
    found = Object(KINDS.POD, "default/p", 1, body)
    assert found.view.metadata.managedFields == ()
    assert found.raw["metadata"]["managedFields"] == [{"manager": "me"}]
    assert Object(KINDS.POD, "default/p", 1, b'{"metadata":null}').view.metadata.name == ""
