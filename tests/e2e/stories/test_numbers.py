"""Numbers in tolerations: the stories of KEP-5471 and the examples of the v1.35 announcement, gate on."""

import subprocess
import sys

from tests.e2e.running_cluster import Cluster
from tests.e2e.stories.stage import NOT_HELPFUL, Raw, Stage, documents_of, node, pod, pod_of_template

GATE = "TaintTolerationComparisonOperators"
UP_OPTIONS = (f"--feature-gates={GATE}=true",)
SLA = "node.kubernetes.io/sla"


def test_spot_nodes_are_for_those_who_ask(stage: Stage) -> None:
    stage.nodes("spot-nodes-by-sla")
    stage.play("spot-nodes-by-sla", "workloads.yaml")
    cost, flexible, critical = stage.lands("cost-optimized", "flexible-sla-workload", "critical-workload")
    assert cost in {"spot-node-1", "standard-node-1", "ondemand-node-1"}
    assert flexible in {"standard-node-1", "ondemand-node-1"}
    assert critical == "ondemand-node-1"
    assert stage.why_pending("unaware-workload") == (
        "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/sla: 800}, "
        "1 node(s) had untolerated taint {node.kubernetes.io/sla: 900}, "
        "1 node(s) had untolerated taint {node.kubernetes.io/sla: 990}. " + NOT_HELPFUL.format(3)
    )


def test_a_critical_workload_waits_for_a_node_that_is_good_enough(stage: Stage) -> None:
    stage.create(node("spot-node-1", f"{SLA}=800:NoSchedule"), node("edge", f"{SLA}=950:NoSchedule"))
    stage.create(*[found for found in documents_of("spot-nodes-by-sla", "workloads.yaml") if "critical" in str(found)])
    assert stage.why_pending("critical-workload") == (
        "0/2 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/sla: 800}, "
        "1 node(s) had untolerated taint {node.kubernetes.io/sla: 950}. " + NOT_HELPFUL.format(2)
    )
    said = explained(stage, "critical-workload")
    assert "taint node.kubernetes.io/sla=800 is not tolerated: 800 > 950 is false (toleration Gt 950)" in said
    assert "taint node.kubernetes.io/sla=950 is not tolerated: 950 > 950 is false (toleration Gt 950)" in said
    stage.kubectl(f"taint nodes spot-node-1 {SLA}=990:NoSchedule --overwrite")
    assert stage.lands("critical-workload") == ["spot-node-1"]


def explained(stage: Stage, name: str) -> str:
    """What `moorage explain` makes of what kubectl prints."""
    cluster = stage.kubectl("get nodes,pods,pv,pvc,sc -o yaml").out
    command = [sys.executable, "-m", "moorage", "explain", f"pod/{name}", f"--feature-gates={GATE}=true"]
    return subprocess.run(command, input=cluster, capture_output=True, text=True, check=True).stdout


def test_inference_keeps_to_nodes_with_a_high_sla(stage: Stage) -> None:
    folder = "inference-eviction-on-sla-drop"
    stage.nodes(folder)
    pods = stage.play(folder, "inference.yaml", replicas=4)
    assert set(stage.lands(*pods)) == {"ondemand-node-1", "ondemand-node-2"}
    # As printed, strictly greater: 950 is not.
    printed = stage.play(folder, "inference-as-the-story-prints-it.yaml", replicas=2)
    assert set(stage.lands(*printed)) == {"ondemand-node-2"}
    seconds = '{.spec.tolerations[?(@.operator=="Gt")].tolerationSeconds}'
    assert stage.read(f"pod {printed[0]}", seconds) == "30"


def test_parameter_servers_here_and_workers_there(stage: Stage) -> None:
    stage.nodes("parameter-servers-and-workers")
    server, worker = stage.play("parameter-servers-and-workers", "training.yaml")
    landed = dict(zip((server, worker), stage.lands(server, worker), strict=True))
    assert landed[server] == "ondemand-gpu-1"
    assert landed[worker] in {"ondemand-gpu-1", "spot-gpu-1"}
    template = documents_of("parameter-servers-and-workers", "training.yaml")[1]["spec"]["template"]
    # Four GPUs a worker, sixteen in the cluster, one of which is the server's.
    stage.create(*[pod_of_template(template, f"more-{number}") for number in range(2)])
    stage.lands("more-0", "more-1")
    stage.create(pod_of_template(template, "one-too-many"))
    assert stage.why_pending("one-too-many").startswith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")


def test_a_gpu_workload_keeps_to_nodes_with_a_high_sla(stage: Stage) -> None:
    stage.nodes("gpu-claims-by-node-sla")
    stage.devices("gpu-claims-by-node-sla")
    assert stage.play("gpu-claims-by-node-sla", "dra-workload.yaml") == ["dra-workload"]
    assert stage.lands("dra-workload") == ["gpu-node-01"]
    assert stage.allocated() == {"dra-workload": "gpu-node-01-device-0"}


def test_gpus_by_the_error_budget_they_have_left(stage: Stage) -> None:
    stage.nodes("gpu-error-budget")
    stage.devices("gpu-error-budget")
    inference, training = stage.play("gpu-error-budget", "workloads.yaml")
    stage.lands(inference, training)
    devices = stage.allocated()
    fresh = {"gpu-budget-01-device-1", "gpu-budget-02-device-1", "gpu-budget-02-device-2"}
    assert devices[inference] in fresh
    assert devices[training] in {*fresh, "gpu-budget-01-device-0"} - {devices[inference]}


def test_payments_stay_off_spot_nodes_and_batch_jobs_need_not(stage: Stage) -> None:
    stage.nodes("spot-protection")
    payments = stage.play("spot-protection", "payment-processor.yaml")
    assert set(stage.lands(*payments)) == {"ondemand-node-1"}
    jobs = stage.play("spot-protection", "batch-job.yaml", replicas=4)
    assert set(stage.lands(*jobs)) == {"ondemand-node-1", "spot-node-1"}
    stage.kubectl("cordon ondemand-node-1")
    stage.create(
        pod("late", {"key": "failure-probability", "operator": "Lt", "value": "5", "effect": "NoExecute"}),
    )
    assert stage.why_pending("late") == (
        "0/2 nodes are available: 1 node(s) had untolerated taint {failure-probability: 15}, "
        "1 node(s) were unschedulable. " + NOT_HELPFUL.format(2)
    )
    said = explained(stage, "late")
    assert "taint failure-probability=15 is not tolerated: 15 < 5 is false (toleration Lt 5)" in said


def test_gpu_tiers(stage: Stage) -> None:
    stage.nodes("gpu-tiers")
    stage.play("gpu-tiers", "models.yaml")
    training, inference = stage.lands("model-training", "model-inference")
    assert training == "gpu-node-a100"
    assert inference in {"gpu-node-a100", "gpu-node-t4"}


def test_no_more_than_a_hundred_an_hour(stage: Stage) -> None:
    stage.nodes("cost-limit")
    stage.create(*[found for found in documents_of("cost-limit", "nightly-report.yaml") if "value" in found])
    pods = stage.play("cost-limit", "nightly-report.yaml", replicas=3)
    assert set(stage.lands(*pods)) == {"small-node-1"}
    assert stage.read(f"pod {pods[0]}", "{.spec.priority}") == "-100"


def test_disks_that_are_fast_enough(stage: Stage) -> None:
    stage.nodes("disk-iops-minimum")
    pods = stage.play("disk-iops-minimum", "search-index.yaml", replicas=3)
    assert set(stage.lands(*pods)) == {"nvme-node-1"}


def test_how_to_use_this_feature(stage: Stage) -> None:
    stage.create(node("node-1"), node("node-2"))
    assert stage.kubectl("taint nodes node-1 failure-probability=5:NoSchedule").out == "node/node-1 tainted\n"
    assert stage.kubectl("taint nodes node-2 disk-iops=5000:NoSchedule").out == "node/node-2 tainted\n"
    wanted = {"key": "failure-probability", "operator": "Lt", "value": "1", "effect": "NoSchedule"}
    stage.create(pod("picky", wanted))
    assert stage.why_pending("picky") == (
        "0/2 nodes are available: 1 node(s) had untolerated taint {disk-iops: 5000}, "
        "1 node(s) had untolerated taint {failure-probability: 5}. " + NOT_HELPFUL.format(2)
    )
    stage.kubectl("taint nodes node-1 failure-probability=0:NoSchedule --overwrite")
    assert stage.lands("picky") == ["node-1"]


def test_a_soft_taint_only_makes_a_node_less_welcome(stage: Stage) -> None:
    stage.create(node("high", f"{SLA}=980:PreferNoSchedule"), node("low", f"{SLA}=900:PreferNoSchedule"))
    tolerations = {"key": SLA, "operator": "Gt", "value": "950", "effect": "PreferNoSchedule"}
    stage.create(*[pod(f"one-{number}", tolerations) for number in range(3)])
    assert set(stage.lands("one-0", "one-1", "one-2")) == {"high"}
    stage.kubectl("cordon high")
    stage.create(pod("two", tolerations))
    assert stage.lands("two") == ["low"]


def test_values_that_are_not_numbers_are_refused(stage: Stage) -> None:
    def odd(name: str, value: str) -> Raw:
        return pod(name, {"key": SLA, "operator": "Gt", "value": value})

    canonical = "must be a valid decimal integer in canonical form"
    assert stage.refused(odd("fraction", "95.5")) == (
        'The Pod "fraction" is invalid: \n'
        f'* spec.tolerations[0].value: Invalid value: "95.5": {canonical}\n'
        '* spec.tolerations[0].value: Invalid value: "95.5": strconv.ParseInt: parsing "95.5": invalid syntax'
    )
    values = {"zeros": "0950", "bond": "007", "plus": "+5", "minus": "-0", "huge": "9223372036854775808", "none": ""}
    said = stage.refused(*[odd(name, value) for name, value in values.items()]).splitlines()
    refused = 'Error from server (Invalid): error when creating "STDIN": Pod "{}" is invalid: {}'
    path = "spec.tolerations[0].value: Invalid value: "
    out_of_range = 'strconv.ParseInt: parsing "9223372036854775808": value out of range'
    not_a_number = 'strconv.ParseInt: parsing "": invalid syntax'
    assert said == [
        *[refused.format(name, f'{path}"{values[name]}": {canonical}') for name in ("zeros", "bond", "plus", "minus")],
        refused.format("huge", f'{path}"9223372036854775808": {out_of_range}'),
        refused.format("none", f'[{path}"": must be non-empty, {path}"": {not_a_number}]'),
    ]


def test_a_taint_that_is_not_a_number_is_accepted_and_never_matches(stage: Stage, cluster: Cluster) -> None:
    stage.create(node("high", f"{SLA}=high:NoSchedule"), node("fraction", f"{SLA}=95.5:NoSchedule"))
    stage.create(pod("one", {"key": SLA, "operator": "Gt", "value": "1", "effect": "NoSchedule"}))
    assert stage.why_pending("one") == (
        f"0/2 nodes are available: 1 node(s) had untolerated taint {{{SLA}: 95.5}} ({{{SLA}: 95.5}} is not a 64-bit "
        f"integer), 1 node(s) had untolerated taint {{{SLA}: high}} ({{{SLA}: high}} is not a 64-bit integer). "
        + NOT_HELPFUL.format(2)
    )
    warnings = [line for line in (cluster.home / "moorage.log").read_text().splitlines() if line.startswith("W")]
    assert any("high" in line and SLA in line and f"{stage.kubectl.namespace}/one" in line for line in warnings)
    stage.create(node("proper", f"{SLA}=2:NoSchedule"))
    assert stage.lands("one") == ["proper"]
