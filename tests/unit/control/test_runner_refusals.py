"""What is done together, what is told of it, and what happens when the API server says no."""

from collections.abc import Iterable, Sequence

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object
from moorage.control.framework.actions import NORMAL, WARNING, Action, Create, Delete, Patch, Plan, Report
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind

_ABOUT = {"kind": "ConfigMap", "name": "plan", "namespace": "default"}


class Scripted(Controller):
    """Does what it is told, once there is a config map called "plan"."""

    name = "scripted-controller"
    watches = (KINDS.CONFIG_MAP,)

    def __init__(self, *actions: Action) -> None:
        super().__init__(controller_context())
        self.actions, self.rounds = actions, 0

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return ("default/plan",) if new is not None and new.name == "plan" and old is None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self.rounds += 1
        return Plan(self.actions) if self.rounds == 1 else Plan()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        note = {"metadata": {"annotations": {f"refusal-{self.rounds}": "noted"}}}
        return (
            Report(_ABOUT, WARNING, "Refused", error.message),
            Patch(KINDS.CONFIG_MAP, "default", "plan", note),
        )


def _config_map(name: str, **metadata: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


def _create(name: str) -> Create:
    return Create(KINDS.CONFIG_MAP, _config_map(name), "default", Report(_ABOUT, NORMAL, "Made", "Made {name}"))


def _run(controller: Scripted) -> tuple[list[tuple[str, str]], set[str], Object]:
    async def story() -> tuple[list[tuple[str, str]], set[str], Object]:
        async with VirtualCluster.running(lambda: (controller,)) as cluster:
            await cluster.client.create(KINDS.CONFIG_MAP, _config_map("taken"))
            await cluster.client.create(KINDS.CONFIG_MAP, _config_map("plan"))
            await cluster.settle(60)
            names = {found.name for found in await cluster.all(KINDS.CONFIG_MAP, "default")}
            said = [(event.reason, event.message) for event in cluster.events]
            return said, names, await cluster.client.get(KINDS.CONFIG_MAP, "plan", "default")

    return run_virtual(story())


def test_what_was_made_is_told_by_the_name_it_was_given() -> None:
    generated = Create(
        KINDS.CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}},
        "default",
        Report(_ABOUT, NORMAL, "Made", "Made {name}"),
    )
    said, names, _ = _run(Scripted(generated, _create("b")))
    made = names - {"plan", "taken", "b"}
    assert len(made) == 1
    assert said == [("Made", f"Made {made.pop()}"), ("Made", "Made b")]


def test_the_first_refusal_ends_the_plan_and_is_written_down() -> None:
    said, names, plan = _run(Scripted(_create("taken"), _create("b"), _create("c")))
    assert said == [("Refused", 'configmaps "taken" already exists')]
    assert names == {"plan", "taken"}
    assert plan.raw["metadata"]["annotations"] == {"refusal-1": "noted"}


def test_all_refusals_of_a_batch_are_told_and_one_is_written_down() -> None:
    creates = (_create("a"), _create("taken"), _create("taken"), _create("d"))
    said, names, _ = _run(Scripted(*creates))
    assert [reason for reason, _ in said] == ["Made", "Refused", "Refused"]
    assert names == {"plan", "taken", "a"}


def test_what_is_gone_already_is_deleted_without_a_word() -> None:
    gone = Report(_ABOUT, NORMAL, "Deleted", "Deleted it")
    deletes = (
        Delete(KINDS.CONFIG_MAP, "default", "nobody", report=gone),
        Delete(KINDS.CONFIG_MAP, "default", "taken", report=gone),
    )
    said, names, _ = _run(Scripted(*deletes))
    assert said == [("Deleted", "Deleted it")]
    assert names == {"plan"}
