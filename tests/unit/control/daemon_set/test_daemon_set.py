"""DaemonSets: one pod on every node that fits; failures, adoption, refusals; status and events."""

from tests.unit.control.daemon_set.daemon_sets import ON_DELETE, daemon_set, daemons
from tests.unit.control.workloads import pod
from tests.virtual_nodes import add_node, change_node, taint
from tests.virtual_time import run_virtual

from moorage.client.protocol import PatchType
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

CEL_ON = gates_from({"TaintTolerationCEL": True})


async def test_every_node_gets_a_pod_that_is_pinned_to_it() -> None:
    async with daemons() as found:
        await found.create(daemon_set())
        assert await found.where() == ["n0", "n1", "n2"]
        first = (await found.pods())[0]
        (revision,) = await found.revisions()
        labels = first.raw["metadata"]["labels"]
        assert labels == {
            "app": "agent",
            "controller-revision-hash": revision.raw["metadata"]["labels"]["controller-revision-hash"],
            "pod-template-generation": "1",
        }
        assert revision.name == f"agent-{labels['controller-revision-hash']}"
        required = first.raw["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        field = {"key": "metadata.name", "operator": "In", "values": ["n0"]}
        assert required == {"nodeSelectorTerms": [{"matchFields": [field]}]}
        keys = {one["key"] for one in first.raw["spec"]["tolerations"]}
        assert {"node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"} <= keys
        assert await found.status() == {
            "currentNumberScheduled": 3,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 3,
            "numberReady": 3,
            "observedGeneration": 1,
            "updatedNumberScheduled": 3,
            "numberAvailable": 3,
        }
        assert sorted(found.messages("SuccessfulCreate")) == sorted(
            f"Created pod: {made.name}" for made in await found.pods()
        )


async def test_nodes_that_come_change_and_go() -> None:
    async with daemons(2) as found:
        await found.create(daemon_set(pod_spec={"nodeSelector": {"disk": "ssd"}}))
        assert await found.where() == []
        await change_node(found.cluster, "n1", {"metadata": {"labels": {"disk": "ssd"}}})
        await add_node(found.cluster, "n9", {"disk": "ssd"})
        await found.cluster.settle(5)
        assert await found.where() == ["n1", "n9"]
        await change_node(found.cluster, "n1", {"metadata": {"labels": {"disk": "hdd"}}})
        await found.cluster.settle(5)
        assert await found.where() == ["n9"]
        assert len(found.messages("SuccessfulDelete")) == 1
        await found.cluster.client.delete(KINDS.NODE, "n9")
        await found.cluster.settle(5)
        status = await found.status()
        assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (0, 0)


async def test_taints_keep_new_pods_away_and_send_old_ones_off_if_they_say_so() -> None:
    async with daemons() as found:
        await found.create(daemon_set())
        await change_node(found.cluster, "n0", {"spec": {"taints": [taint("a")]}})
        await found.cluster.settle(5)
        assert await found.where() == ["n0", "n1", "n2"]
        status = await found.status()
        assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (2, 1)
        await change_node(found.cluster, "n0", {"spec": {"taints": [taint("a", effect="NoExecute")]}})
        await found.cluster.settle(5)
        assert await found.where() == ["n1", "n2"]
        assert (await found.status())["numberMisscheduled"] == 0
        await change_node(found.cluster, "n0", {"spec": {"taints": []}})
        await found.cluster.settle(5)
        assert await found.where() == ["n0", "n1", "n2"]


def test_expressions_decide_where_their_gate_is_on() -> None:
    tolerates = {"tolerations": [{"expression": "taint.key == 'sla' && int(taint.value) > 95"}]}

    async def story(controller_on: bool, nodes: list[str]) -> None:
        gates = CEL_ON if controller_on else None
        async with daemons(0, gates=gates, server_gates=CEL_ON) as found:
            await add_node(found.cluster, "high", taints=[taint("sla", "99")])
            await add_node(found.cluster, "low", taints=[taint("sla", "90")])
            await add_node(found.cluster, "odd", taints=[taint("sla", "none")])
            await add_node(found.cluster, "plain")
            await found.create(daemon_set(pod_spec=tolerates))
            assert await found.where() == nodes
            text = found.cluster.manager.runners[0].controller._reader  # type: ignore[attr-defined]
            assert (text.evaluation_errors > 0) == controller_on

    run_virtual(story(True, ["high", "plain"]))
    run_virtual(story(False, ["plain"]))


async def test_failed_pods_are_replaced_later_each_time() -> None:
    async with daemons(1, seconds_to_start=lambda pod: 0.1, seconds_to_stop=0.1) as found:
        await found.create(daemon_set())
        names = []
        for waited in (0.0, 0.5, 1.5):
            (there,) = await found.pods()
            names.append(there.name)
            await found.nodes.fail(there)
            if waited:
                await found.cluster.settle(waited - 0.3)
                assert [one.name for one in await found.pods()] == [there.name]
            await found.cluster.settle(0.8 if waited else 0.5)
            assert [one.name for one in await found.pods()] != [there.name]
        assert found.messages("FailedDaemonPod") == [
            f"Found failed daemon pod default/{name} on node n0, will try to kill it" for name in names
        ]


async def test_pods_that_ended_well_and_duplicates_go() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set())
        (first,) = await found.pods()
        await found.nodes._report(first, {"phase": "Succeeded"})
        await found.cluster.settle(5)
        (second,) = await found.pods()
        assert second.name != first.name
        assert found.messages("SucceededDaemonPod") == [
            f"Found succeeded daemon pod default/{first.name} on node n0, will try to delete it"
        ]
        extra = pod("extra", {"app": "agent"}, spec={"nodeName": "n0"})
        await found.cluster.client.create(KINDS.POD, extra)
        await found.cluster.settle(5)
        (left,) = await found.pods()
        assert left.name == second.name


async def test_orphans_are_adopted_and_strangers_let_go() -> None:
    async with daemons(1) as found:
        await found.cluster.client.create(KINDS.POD, pod("mine", {"app": "agent"}, spec={"nodeName": "n0"}))
        made = await found.create(daemon_set(updateStrategy=ON_DELETE))
        (adopted,) = await found.pods()
        assert adopted.name == "mine"
        assert adopted.view.metadata.ownerReferences[0].uid == made.uid
        patch = {"metadata": {"labels": {"app": "other"}}}
        await found.cluster.client.patch(KINDS.POD, "mine", "default", patch, patch_type=PatchType.MERGE)
        await found.cluster.settle(5)
        pods = {one.name: one for one in await found.pods()}
        assert len(pods) == 2
        assert not pods["mine"].view.metadata.ownerReferences


async def test_a_refused_template_is_told_and_tried_ever_less_often() -> None:
    async with daemons(3) as found:
        affinity = {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "zone",
                        "labelSelector": {"matchLabels": {"app": "agent"}},
                        "matchLabelKeys": ["app"],
                    }
                ]
            }
        }
        await found.create(daemon_set(pod_spec={"affinity": affinity}), settle=100)
        assert await found.pods() == []
        texts = found.messages("FailedCreate")
        assert 5 < len(texts) < 30
        assert texts[0].startswith('Error creating: Pod "agent-')
        assert (await found.status())["observedGeneration"] == 1


async def test_a_deleted_daemon_set_is_left_alone() -> None:
    async with daemons(1) as found:
        wanted = daemon_set()
        wanted["metadata"]["finalizers"] = ["example.com/wait"]
        await found.create(wanted)
        await found.cluster.client.delete(found.cluster.manager.runners[0].controller.watches[0], "agent", "default")
        await found.cluster.client.delete(KINDS.POD, (await found.pods())[0].name, "default")
        await found.cluster.settle(10)
        assert await found.pods() == []
