"""The table of controllers is complete, and the base class has the right defaults."""

import pkgutil
from importlib import import_module

import pytest
from tests.controller_context import controller_context

import moorage.control
from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.control.registry import CONTROLLERS, UnknownController, chosen
from moorage.model.kinds import KINDS


def test_every_controller_has_a_row_with_its_name() -> None:
    for module in pkgutil.walk_packages(moorage.control.__path__, "moorage.control."):
        import_module(module.name)
    framework = "moorage.control.framework"
    defined, waiting = set[type[Controller]](), list[type[Controller]](Controller.__subclasses__())
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith("moorage.control.") and not one.__module__.startswith(f"{framework}."):
            defined.add(one)
    made = [row.make(controller_context()) for row in CONTROLLERS]
    assert {type(one) for one in made} == defined
    assert [one.name for one in made] == [row.name for row in CONTROLLERS]
    assert all(one.watches for one in made)


class _Minimal(Controller):
    name = "minimal-controller"
    watches = (KINDS.NODE,)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING


def test_a_controller_needs_a_name_what_it_watches_and_reconcile() -> None:
    controller, world = _Minimal(controller_context()), World()
    node = Object(KINDS.NODE, "n", 1, raw={"metadata": {"name": "n"}})
    assert [*controller.concerns(KINDS.NODE, None, node, world)] == ["n"]
    assert [*controller.concerns(KINDS.NODE, node, None, world)] == ["n"]
    assert (controller.workers, controller.component) == (8, "")
    assert not controller.questions("n", world, 0.0)
    assert controller.decide("n", world, {}, 0.0) is NOTHING


def test_a_controller_without_reconcile_cannot_be_made() -> None:
    class Forgetful(Controller):
        name = "forgetful-controller"

    with pytest.raises(TypeError, match="reconcile"):
        Forgetful(controller_context())  # type: ignore[abstract]


def test_controllers_are_chosen_by_name() -> None:
    assert chosen(["*"], simulated=True) == CONTROLLERS
    assert [row.name for row in chosen(["job-controller"])] == ["job-controller"]
    assert len(chosen(["*", "-job-controller"], simulated=True)) == len(CONTROLLERS) - 1
    with pytest.raises(UnknownController, match='"x" is not in the list'):
        chosen(["x"])
