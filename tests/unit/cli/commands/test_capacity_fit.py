from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.plan.planning import node, pod, running, workload
from tests.unit.plan.pools.pool_worlds import GATE, TYPES, daemon_set, node_pool
from tests.unit.pools.inputs import instance_type, instance_types

from moorage.cli.commands.capacity.fit import fit_nodes

GROUP = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": "g"}}


def group(**spec: Any) -> str:
    template = {"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"}}}
    return json.dumps({**GROUP, "spec": {"price": 1.0, "template": template, **spec}})


def fit(tmp_path: Path, documents: list[dict[str, Any]], pools: list[str], *options: str) -> Result:
    names = []
    for number, text in enumerate([*pools, "\n---\n".join(map(json.dumps, documents))]):
        names.append(str(tmp_path / (f"{number}.json" if text.startswith("[") else f"{number}.yaml")))
        Path(names[-1]).write_text(text)
    given = [word for name in names[:-1] for word in ("--pools", name)]
    return CliRunner().invoke(fit_nodes, [names[-1], *given, *options], standalone_mode=False)


def answer(done: Result) -> Any:
    assert done.exception is None, done.output
    return json.loads(done.stdout)


def test_a_mix_is_the_same_in_every_form(tmp_path: Path) -> None:
    documents = [workload("Deployment", "web", "2", replicas=3), daemon_set(cpu="500m")]
    found = answer(fit(tmp_path, documents, [node_pool(), TYPES], "-o", "json", "--explain"))
    assert found["cost"] >= found["bound"] > 0
    assert found["workloads"][0]["workload"] == "Deployment default/web"
    assert found["sentence"] in fit(tmp_path, documents, [node_pool(), TYPES]).output
    assert found["sentence"] in fit(tmp_path, documents, [node_pool(), TYPES], "-o", "markdown").output
    assert found["sentence"] in fit(tmp_path, documents, [node_pool(), TYPES], "-o", "svg").output
    nodes = list(yaml.safe_load_all(fit(tmp_path, documents, [node_pool(), TYPES], "-o", "yaml").stdout))
    assert [one["metadata"]["name"] for one in nodes] == [name for one in found["nodes"] for name in one["names"]]


def test_what_no_pool_can_take_is_named_with_taint_and_inequality(tmp_path: Path) -> None:
    tainted = node_pool("spot", taints=[{"key": "spot", "value": "20", "effect": "NoSchedule"}])
    below = {"key": "spot", "operator": "Lt", "value": "10", "effect": "NoSchedule"}
    gate = ("--feature-gates", "TaintTolerationComparisonOperators=true")
    documents = [workload("Deployment", "web", replicas=2, pods={"tolerations": [below]}), pod("huge", "300")]
    done = fit(tmp_path, documents, [tainted, TYPES], "-o", "json", *gate)
    assert done.return_value == 1
    found = {next(iter(one["workloads"])): one["pools"][0]["details"] for one in answer(done)["hopeless"]}
    assert "20 < 10 is false" in found["Deployment default/web"][0]
    assert any("300 <= " in detail for detail in found["Pod default/huge"])


def test_a_pool_that_is_too_small_is_said_to_be(tmp_path: Path) -> None:
    done = fit(tmp_path, [workload("Deployment", "web", "3", replicas=3)], [group(maxSize=2)], "-o", "json")
    assert done.return_value == 1
    assert answer(done)["left"][0]["workloads"] == {"Deployment default/web": 3}


def test_existing_nodes_stay_or_are_left_out(tmp_path: Path) -> None:
    documents = [node("n", "4"), running("old", "n", cpu="3"), pod("new", "3")]
    beside = answer(fit(tmp_path, documents, [group()], "-o", "json", "--keep-existing"))
    assert (sum(one["count"] for one in beside["nodes"]), beside["pods"]) == (1, 1)
    afresh = answer(fit(tmp_path, documents, [group()], "-o", "json"))
    assert (sum(one["count"] for one in afresh["nodes"]), afresh["pods"]) == (2, 2)
    assert "1 node of the input left out" in afresh["notes"][0]


@pytest.mark.parametrize(("survive", "nodes"), [("1", 2), ("zone", 2)])
def test_a_mix_survives_losses(tmp_path: Path, survive: str, nodes: int) -> None:
    documents = [workload("Deployment", "web", "3", replicas=1)]
    found = answer(fit(tmp_path, documents, [group(zones=["a", "b"])], "-o", "json", "--survive", survive))
    assert found["survival"]["failed"] == []
    assert sum(one["count"] for one in found["nodes"]) == nodes
    if survive == "zone":
        assert {one["zone"] for one in found["nodes"]} == {"a", "b"}


def test_a_pool_that_cannot_be_lost_is_said(tmp_path: Path) -> None:
    done = fit(tmp_path, [workload("Deployment", "web", "3", replicas=1)], [group()], "--survive", "pool")
    assert done.return_value == 1
    assert "after losing pool g these wait: Deployment default/web (1 pods)" in " ".join(done.output.split())


def test_headroom_and_buffers_are_room_for_more_pods(tmp_path: Path) -> None:
    documents = [workload("Deployment", "web", "3", replicas=2)]
    assert answer(fit(tmp_path, documents, [group()], "-o", "json", "--headroom", "50"))["pods"] == 3
    target = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    buffer = {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": {"name": "b"}}
    made = json.dumps({**buffer, "spec": {"scalableRef": target, "percentage": 100}})
    found = answer(fit(tmp_path, documents, [group(), made], "-o", "json"))
    assert (found["pods"], sum(one["count"] for one in found["nodes"])) == (4, 4)


def test_a_mix_that_is_too_dear_is_an_exit_code_of_its_own(tmp_path: Path) -> None:
    documents = [workload("Deployment", "web", "3", replicas=2)]
    assert fit(tmp_path, documents, [group()], "--max-cost", "2").return_value == 0
    done = fit(tmp_path, documents, [group()], "--max-cost", "1")
    assert done.return_value == 1
    assert "--max-cost 1 cannot be kept: no mix costs less than 2/h" in done.output


def test_without_highs_the_answer_is_greedy_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("model.fluid", "model.solve", "model.highs", "report", "model.robust"):
        monkeypatch.setattr(f"moorage.capacity.fitting.{module}.is_installed", lambda: False)
    documents = [workload("Deployment", "web", "300m", replicas=7), workload("Deployment", "db", "3", replicas=2)]
    found = answer(fit(tmp_path, documents, [node_pool(), TYPES], "-o", "json"))
    assert found["solver"] == "greedy"
    assert 0 < found["bound"] <= found["cost"]


@pytest.mark.parametrize(
    ("pools", "complaint"),
    [
        ([group(price=None)], "NodeGroup g: no price of g"),
        ([group(minSize=-1)], "spec.minSize: Invalid value"),
        ([group(maxSize=-1)], "spec.maxSize: Invalid value"),
        ([group(price=-1)], "spec.price: Invalid value"),
        ([json.dumps({**GROUP, "spec": {"price": 1, "instanceType": "x9"}})], 'spec.instanceType: Not found: "x9"'),
        ([node_pool(limits={"cpu": "-1"}), TYPES], "spec.limits[cpu]: Invalid value"),
        (["kind: Nothing\napiVersion: v1\n"], "there is no pool in"),
    ],
)
def test_bad_pools_are_one_clear_line(tmp_path: Path, pools: list[str], complaint: str) -> None:
    done = fit(tmp_path, [pod("p")], pools)
    assert done.return_value == 2
    assert complaint in done.output
    assert len([line for line in done.output.splitlines() if complaint in line]) == 1


def test_what_the_api_server_refuses_is_no_mix_for_everything(tmp_path: Path) -> None:
    below = {"key": "spot", "operator": "Lt", "value": "10", "effect": "NoSchedule"}
    documents = [workload("Deployment", "web", pods={"tolerations": [below]}), pod("p")]
    done = fit(tmp_path, documents, [node_pool(), TYPES], "-o", "json", "--feature-gates", f"{GATE}=false")
    assert done.return_value == 1
    [refused] = answer(done)["refused"]
    assert "Deployment default/web" in refused
    assert "Refused by the API server" in fit(tmp_path, documents, [node_pool(), TYPES]).output


def test_ten_thousand_types_are_no_obstacle(tmp_path: Path) -> None:
    types = instance_types(
        *(instance_type(f"t{n}", str(2 + n % 30), f"{4 + n % 60}Gi", spot={"a": 1 + n / 1e5}) for n in range(10_000))
    )
    documents = [workload("Deployment", "web", "3", replicas=9)]
    found = answer(fit(tmp_path, documents, [node_pool(), types], "-o", "json"))
    assert found["cost"] >= found["bound"] > 0


# -- devices -----------------------------------------------------------------------------------------------------------


def device_class(name: str) -> dict[str, Any]:
    selector = {"cel": {"expression": f"device.driver == '{name}.example.com'"}}
    about = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}}
    return {**about, "spec": {"selectors": [selector]}}


def claim(name: str, of: str = "gpu", count: int = 1, *, is_template: bool = True) -> dict[str, Any]:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": of, "count": count}}]}}
    kind = "ResourceClaimTemplate" if is_template else "ResourceClaim"
    about = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}
    return {**about, "spec": {"spec": spec} if is_template else spec}


def claiming(name: str, replicas: int, *, template: str = "", shared: str = "") -> dict[str, Any]:
    field = {"resourceClaimTemplateName": template} if template else {"resourceClaimName": shared}
    made = workload("Deployment", name, "100m", replicas=replicas, pods={"resourceClaims": [{"name": "d", **field}]})
    made["spec"]["template"]["spec"]["containers"][0]["resources"]["claims"] = [{"name": "d"}]
    return made


def with_devices(text: str) -> str:
    made = json.loads(group(maxSize=5))
    made["spec"]["template"]["metadata"] = {"annotations": {"simulate.moorage.dev/devices": text}}
    return json.dumps(made)


@pytest.mark.parametrize(
    ("documents", "nodes"),
    [
        ([claim("one"), claiming("train", 6, template="one")], 2),
        ([claim("two", count=2), claiming("train", 3, template="two")], 2),
        ([claim("one", is_template=False), claiming("train", 6, shared="one")], 1),
    ],
)
def test_claims_of_devices_are_fitted(tmp_path: Path, documents: list[dict[str, Any]], nodes: int) -> None:
    documents = [device_class("gpu"), *documents]
    found = answer(fit(tmp_path, documents, [with_devices("gpu.example.com=4")], "-o", "json"))
    assert sum(one["count"] for one in found["nodes"]) == nodes
    made = list(yaml.safe_load_all(fit(tmp_path, documents, [with_devices("gpu.example.com=4")], "-o", "yaml").stdout))
    assert made[0]["metadata"]["annotations"] == {"simulate.moorage.dev/devices": "gpu.example.com=4"}


@pytest.mark.parametrize(
    ("pool", "more", "reason"),
    [
        (group(), [], "request r (class gpu): the node has no devices"),
        (with_devices("tpu.example.com=4"), [], "0 of 1 devices; 4 of 4: selector #0 of class gpu is not true"),
        (with_devices("gpu.example.com=x"), [], "its nodes are taken to have no devices: simulate.moorage.dev/devices"),
        (with_devices("gpu.example.com=4"), ["none"], 'could not find resource claim "default/none"'),
    ],
)
def test_claims_that_no_pool_meets_are_refused(tmp_path: Path, pool: str, more: list[str], reason: str) -> None:
    documents = [device_class("gpu"), claim("one"), claiming("train", 2, template="one")]
    documents += [claiming("other", 1, shared=name) for name in more]
    done = fit(tmp_path, documents, [pool])
    assert done.return_value == 1
    text = " ".join(done.output.split())
    assert reason in text
    assert "Deployment default/other (1 pod)" in text if more else "Deployment default/train (2 pods)" in text
