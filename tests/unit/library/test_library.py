"""The library's functions: what they take, what they give, how they refuse."""

import asyncio
import inspect
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import moorage
from moorage.admit.admission import Admitted, Rejected

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
TEXT = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: i}]\n"


def test_input_may_be_paths_text_and_objects(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(TEXT)
    for given in (POD, TEXT, tmp_path, str(tmp_path), tmp_path / "pod.yaml"):
        assert moorage.plan([NODE, given]).node_of("web") == "n1"
        assert moorage.lint(given).objects == 1
    assert moorage.plan(iter([NODE, POD])).explain("web").node == "n1"
    for given in (POD, TEXT, tmp_path / "pod.yaml"):
        assert isinstance(moorage.admit(given), Admitted)
    with pytest.raises(moorage.MoorageError, match="not int"):
        moorage.plan([7])  # type: ignore[list-item]


def test_what_is_given_is_not_changed() -> None:
    before = repr(POD)
    moorage.admit(POD)
    moorage.plan([NODE, POD])
    assert repr(POD) == before


def test_a_plan_says_what_is_wrong_with_its_input() -> None:
    plan = moorage.plan([NODE, {**POD, "spec": {}}, "not: [an object\n"])
    assert (plan.rejected, plan.unreadable, plan.is_complete) == (1, 1, False)
    assert any("spec.containers: Required value" in note.message for note in plan.notes)
    with pytest.raises(moorage.MoorageError, match="is no pod 'web'"):
        plan.node_of("web")


def test_what_if() -> None:
    other = {**NODE, "metadata": {"name": "n2"}}
    running = {**POD, "spec": {**POD["spec"], "nodeName": "n1"}, "status": {"phase": "Running"}}
    plan = moorage.plan([NODE, other, running], taint=["n1=sick:NoExecute"])
    assert plan.what_if is not None
    assert [line.name for line in plan.pods if line.node == "n1"] == []
    with pytest.raises(moorage.MoorageError, match="is not of the form"):
        moorage.plan([NODE], taint=["n1"])


def test_a_rollout() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    plan = moorage.plan([NODE, web], rollout="deployment/web")
    assert plan.rollout is not None
    assert plan.rollout.completes
    assert plan.is_complete


def test_a_live_cluster_is_planned_with_changes() -> None:
    with moorage.Cluster(nodes=1) as cluster:
        plan = moorage.plan(POD, kubeconfig=cluster.kubeconfig)
    assert plan.node_of("web") == "node-1"
    assert plan.what_if is not None


def test_mistakes_are_one_exception() -> None:
    with pytest.raises(moorage.MoorageError, match="unrecognized feature gate: Nope"):
        moorage.plan([NODE], gates={"Nope": True})
    with pytest.raises(moorage.MoorageError, match="no pod"):
        moorage.explain("pod/nobody", [NODE, POD])
    with pytest.raises(moorage.MoorageError, match="nope"):
        moorage.lint(POD, select=["nope"])
    with pytest.raises(moorage.MoorageError, match="one object was expected, and there are 2"):
        moorage.admit(f"{TEXT}---\n{TEXT}")
    with pytest.raises(moorage.MoorageError, match="KEY=VALUE:EFFECT"):
        moorage.tolerates([], "nothing")
    with pytest.raises(moorage.MoorageError, match="kubeconfig"):
        moorage.plan([POD], kubeconfig="/no/such/kubeconfig")
    assert issubclass(moorage.MoorageError, ValueError)


def test_an_update_is_admitted_against_what_is_stored() -> None:
    stored = moorage.admit(POD)
    assert isinstance(stored, Admitted)
    old = {**stored.object, "metadata": {**stored.object["metadata"], "resourceVersion": "1", "uid": "u"}}
    refused = moorage.admit({**old, "spec": {**old["spec"], "nodeName": "elsewhere"}}, old)
    assert isinstance(refused, Rejected)
    assert "pod updates may not change fields" in refused.status["message"]


def test_tolerations_of_every_form() -> None:
    toleration = {"key": "a", "operator": "Exists"}
    for given in (toleration, [toleration], {**POD, "spec": {**POD["spec"], "tolerations": [toleration]}}):
        assert moorage.tolerates(given, "a:NoSchedule").index == 0
        assert moorage.tolerates(given, {"key": "a", "effect": "NoExecute"})
    assert not moorage.tolerates(POD, "a=b:NoSchedule")


def test_packages_that_are_functions_stay_packages() -> None:
    """Also after something has imported them, and in whichever order."""
    script = (
        "import moorage.plan.planner, moorage.lint.engine, moorage\n"
        "assert moorage.plan([]).pods == ()\n"
        "assert moorage.plan.planner.Planner\n"
        "assert moorage.lint([]).is_clean\n"
        "from moorage import plan\n"
        "assert plan([]).pods == ()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert "drain" in inspect.signature(moorage.plan).parameters


def _is_alive(cluster: moorage.Cluster) -> bool:
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(f"{cluster.url}/livez", context=context, timeout=60) as answer:
        return bool(answer.status == 200)


def test_a_cluster_for_programs_without_an_event_loop() -> None:
    with pytest.raises(moorage.MoorageError, match="must be DRIVER=COUNT"):
        moorage.Cluster(devices="gpu")
    with moorage.Cluster(nodes=1, devices="gpu.example.com=8") as cluster:
        kubeconfig = cluster.kubeconfig
        assert _is_alive(cluster)
        assert kubeconfig.is_file()
    assert not kubeconfig.exists()
    with pytest.raises(RuntimeError, match="inside its with block"):
        _ = cluster.url
    with pytest.raises(moorage.MoorageError, match="cannot listen"), moorage.Cluster(bind_address="192.0.2.1"):
        raise AssertionError


@pytest.mark.real_time
async def test_a_cluster_on_the_running_event_loop() -> None:
    async with moorage.Cluster(nodes=1) as cluster:
        assert await asyncio.to_thread(_is_alive, cluster)
        assert cluster.kubeconfig.is_file()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = moorage.nothing  # type: ignore[attr-defined]
    assert {"plan", "Cluster", "cel", "testing", "__version__"} <= set(dir(moorage))
    assert moorage.cel.evaluate("a + 1", a=1) == 2
