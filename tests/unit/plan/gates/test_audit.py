"""What depends on a gate, and what would happen to it without."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from moorage.lint.sources import sources_of
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import (
    GATES,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    SEMVER_COMPARISON_OPERATORS,
    TAINT_TOLERATION_CEL,
    TAINT_TOLERATION_COMPARISON_OPERATORS,
    Component,
    GateSet,
    gates_from,
)
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Toleration
from moorage.plan.gates import audit as audit_module
from moorage.plan.gates.audit import Finding, as_document, audit, order_of_disabling
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.audit import AuditText

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
spec:
  taints: [{key: sla, value: "950", effect: NoExecute}]
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""
RUNNING = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: 11111111-1111-4111-8111-111111111111}
spec:
  nodeName: n1
  containers: [{name: c, image: i}]
  tolerations: [{key: sla, operator: Gt, value: "900"OTHER}]
status: {phase: Running}
---
"""


def findings_in(text: str, tmp_path: Path) -> list[Finding]:
    file = tmp_path / "input.yaml"
    file.write_text(text)
    planner = Planner(Settings(gates_from({"AllAlpha": True, "AllBeta": True})))
    planner.load(sources_of([str(file)]), announces_updates=False)
    assert not [str(note) for note in planner.inventory.notes]
    return audit(planner.inventory, GATES)


def test_every_kind_with_a_template_of_pods_is_audited(tmp_path: Path) -> None:
    spec = (
        "{restartPolicy: POLICY, containers: [{name: c, image: i}], tolerations: [{key: a, operator: Gt, value: '1'}]}"
    )
    template = f"{{metadata: {{labels: {{app: a}}}}, spec: {spec}}}"
    of_pods = "{selector: {matchLabels: {app: a}}, serviceName: s, template: TEMPLATE}"
    manifests = {
        "PodTemplate": ("v1", "template: TEMPLATE"),
        "ReplicationController": ("v1", "spec: {selector: {app: a}, template: TEMPLATE}"),
        "Deployment": ("apps/v1", f"spec: {of_pods.replace('serviceName: s, ', '')}"),
        "ReplicaSet": ("apps/v1", f"spec: {of_pods.replace('serviceName: s, ', '')}"),
        "DaemonSet": ("apps/v1", f"spec: {of_pods.replace('serviceName: s, ', '')}"),
        "StatefulSet": ("apps/v1", f"spec: {of_pods}"),
        "Job": ("batch/v1", "spec: {template: TEMPLATE}"),
        "CronJob": ("batch/v1", "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: TEMPLATE}}}"),
    }
    assert {kind.name for kind in KINDS.values() if kind.template} == set(manifests)
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n---\n"
    texts = [
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n{body}".replace("TEMPLATE", template).replace(
            "POLICY", "Never" if version == "batch/v1" else "Always"
        )
        for kind, (version, body) in manifests.items()
    ]
    findings = findings_in(namespace + "\n---\n".join(texts), tmp_path)
    assert {finding.item.key.kind for finding in findings} == set(manifests)
    of_template = next(finding for finding in findings if finding.item.key.kind == "PodTemplate")
    assert of_template.paths == ("template.spec.tolerations[0].operator",)
    assert of_template.breaks  # a manifest that no cluster has yet is refused


def test_a_stored_pod_template_stays_and_breaks_nothing_by_itself(tmp_path: Path) -> None:
    (finding,) = findings_in(
        """
apiVersion: v1
kind: PodTemplate
metadata: {name: t, namespace: default, uid: 11111111-1111-4111-8111-111111111111}
template:
  spec:
    containers: [{name: c, image: i}]
    tolerations: [{key: sla, operator: Gt, value: "900"}]
""",
        tmp_path,
    )
    assert not finding.breaks
    assert "pods made of it are rejected" in finding.consequences[0].text


def test_a_running_pod_whose_only_toleration_goes_is_evicted(tmp_path: Path) -> None:
    (finding,) = findings_in(NODE + RUNNING.replace("OTHER", ""), tmp_path)
    assert finding.gate is TAINT_TOLERATION_COMPARISON_OPERATORS
    assert finding.paths == ("spec.tolerations[0].operator",)
    assert finding.breaks
    assert finding.consequences[0].component is Component.CONTROLLER_MANAGER
    assert "sla=950" in finding.consequences[0].text


def test_a_running_pod_that_tolerates_otherwise_too_stays(tmp_path: Path) -> None:
    pod = RUNNING.replace("OTHER", "}, {key: sla, operator: Exists")
    (finding,) = findings_in(NODE + pod, tmp_path)
    assert not finding.breaks
    assert "goes on running on n1" in finding.consequences[0].text


def test_a_shorter_stay_counts_as_eviction(tmp_path: Path) -> None:
    pod = RUNNING.replace("OTHER", "}, {key: sla, operator: Exists, effect: NoExecute, tolerationSeconds: 30")
    (finding,) = findings_in(NODE + pod, tmp_path)
    assert finding.breaks
    assert "in 30 s instead of never" in finding.consequences[0].text


@pytest.mark.parametrize(
    ("with_it", "without", "said"),
    [
        (3000, 30, "would be evicted from n1: in 30 s instead of in 3000 s"),
        (30, 0, "would be evicted from n1: at once instead of in 30 s"),
        (30, 3000, None),
        (30, 30, None),
    ],
)
def test_a_stay_that_gets_shorter_is_told_with_both_times(
    with_it: int, without: int, said: str | None, tmp_path: Path
) -> None:
    limited = f", effect: NoExecute, tolerationSeconds: {with_it}"
    other = f"{limited}}}, {{key: sla, operator: Exists, effect: NoExecute, tolerationSeconds: {without}"
    (finding,) = findings_in(NODE + RUNNING.replace("OTHER", other), tmp_path)
    # The kubelet asks whether a taint is tolerated, and not for how long.
    assert [one.text for one in finding.consequences] == [said or "goes on running on n1, and may be updated"]
    assert finding.breaks is (said is not None)


@pytest.mark.parametrize(
    ("toleration", "gate", "said"),
    [
        ('{key: sla, operator: Gt, value: "900"}', TAINT_TOLERATION_COMPARISON_OPERATORS, "Unsupported value"),
        ("{key: v, operator: SemverGt, value: 1.2.3}", SEMVER_COMPARISON_OPERATORS, "Unsupported value"),
        ("{expression: 'taint.key.startsWith(\"a\")'}", TAINT_TOLERATION_CEL, "expression"),
    ],
)
def test_templates_stay_and_their_pods_are_rejected(toleration: str, gate: object, said: str, tmp_path: Path) -> None:
    text = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d}}
spec:
  selector: {{matchLabels: {{app: d}}}}
  template:
    metadata: {{labels: {{app: d}}}}
    spec:
      containers: [{{name: c, image: i}}]
      tolerations: [{toleration}]
"""
    (finding,) = findings_in(text, tmp_path)
    assert finding.gate is gate
    assert finding.breaks
    assert "new pods of it are rejected: spec.tolerations[0]" in finding.consequences[0].text
    assert said in finding.consequences[0].text


DEPLOYMENT = """
apiVersion: apps/v1
kind: KIND
metadata: {name: d}
spec:
  SPECselector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers: [{name: c, image: i}]
      tolerations: [{key: sla, operator: Gt, value: "900"}]
---
"""


def test_what_is_scaled_to_nothing_breaks_nothing_yet(tmp_path: Path) -> None:
    text = DEPLOYMENT.replace("KIND", "ReplicaSet").replace("SPEC", "replicas: 0\n  ")
    (finding,) = findings_in(text, tmp_path)
    assert not finding.breaks
    assert finding.consequences[0].text.startswith(
        "has no replicas; if it is scaled up, the template stays, but new pods"
    )


def test_daemons_leave_where_they_are_driven_out_and_stay_where_they_are_only_not_let_in(tmp_path: Path) -> None:
    others = NODE.replace("n1", "n2").replace("NoExecute", "NoSchedule") + NODE.replace("n1", "n3").replace(
        "sla", "other"
    )
    text = NODE + others + DEPLOYMENT.replace("KIND", "DaemonSet").replace("SPEC", "")
    (finding,) = findings_in(text, tmp_path)
    assert [said.text for said in finding.consequences if said.component is Component.CONTROLLER_MANAGER][1:] == [
        "its pods are deleted from n1, and not made there",
        "its pods stay on n2, but are not made there again once they are gone",
    ]


@pytest.mark.parametrize(
    ("nodes", "other", "breaks", "said"),
    [
        (NODE, "", True, "stays Pending for as long as the gate is off"),
        (NODE, "}, {key: sla, operator: Exists", False, "is scheduled as before"),
        (NODE.replace("950", "800"), "", True, "no node suits it yet, and one that needs the gate"),
        (
            NODE + NODE.replace("n1", "n2").replace("sla", "none").replace("NoExecute", "PreferNoSchedule"),
            "",
            True,
            "n2",
        ),
    ],
)
def test_pods_that_wait_go_where_they_still_may(
    nodes: str, other: str, breaks: bool, said: str, tmp_path: Path
) -> None:
    pod = RUNNING.replace("nodeName: n1", "").replace("phase: Running", "phase: Pending").replace("OTHER", other)
    (finding,) = findings_in(nodes + pod, tmp_path)
    assert finding.breaks is breaks
    assert finding.consequences[0].component is Component.SCHEDULER
    assert said in finding.consequences[0].text


def test_label_keys_are_lost_without_a_word(tmp_path: Path) -> None:
    text = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers: [{name: c, image: i}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: d}}
            matchLabelKeys: [pod-template-hash]
"""
    (finding,) = findings_in(text, tmp_path)
    assert finding.gate is MATCH_LABEL_KEYS_IN_POD_AFFINITY
    assert finding.breaks
    assert "without a word" in finding.consequences[0].text


VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvMORE}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /x}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kernel, operator: SemverGt, values: [5.4.0]}]
"""


def test_volumes_bind_nobody_without_semver(tmp_path: Path) -> None:
    there = VOLUME.replace("MORE", ", uid: 44444444-4444-4444-8444-444444444444")
    (finding,) = findings_in(there, tmp_path)
    assert finding.gate is SEMVER_COMPARISON_OPERATORS
    assert finding.paths == ("spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator",)
    assert finding.breaks
    assert "no node satisfies its node affinity any more" in finding.consequences[0].text
    (finding,) = findings_in(NODE + there, tmp_path)
    assert "no node satisfies its node affinity yet, and one that needs the gate" in finding.consequences[0].text


def test_volumes_that_nobody_has_made_yet_are_rejected(tmp_path: Path) -> None:
    (finding,) = findings_in(VOLUME.replace("MORE", ""), tmp_path)
    assert finding.breaks
    assert "would be rejected: spec.nodeAffinity.required" in finding.consequences[0].text
    assert "not a valid selector operator" in finding.consequences[0].text


def test_volumes_are_still_reached_by_terms_without_versions(tmp_path: Path) -> None:
    node = NODE.replace("{name: n1}", "{name: n1, labels: {kernel: 6.1.0, disk: ssd}}")
    volume = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv, uid: 44444444-4444-4444-8444-444444444444}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /x}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kernel, operator: SemverGt, values: [5.4.0]}]
      - matchExpressions: [{key: disk, operator: Exists}]
---
"""
    (finding,) = findings_in(node + volume, tmp_path)
    assert not finding.breaks
    without_disk = NODE.replace("{name: n1}", "{name: n2, labels: {kernel: 6.1.0}}")
    (finding,) = findings_in(node + without_disk + volume, tmp_path)
    assert finding.breaks
    assert "n2 would not satisfy its node affinity any more: pods that use it go to n1" in finding.consequences[0].text


def test_what_depends_on_nothing_is_not_mentioned(tmp_path: Path) -> None:
    assert findings_in(NODE, tmp_path) == []
    assert list(AuditText().lines([], [TAINT_TOLERATION_CEL])) == ["TaintTolerationCEL: nothing depends on it"]


def test_the_report_names_object_component_and_order(tmp_path: Path) -> None:
    findings = findings_in(NODE + RUNNING.replace("OTHER", ""), tmp_path)
    text = "\n".join(AuditText(width=200).lines(findings, [TAINT_TOLERATION_COMPARISON_OPERATORS]))
    assert "Pod default/p  spec.tolerations[0].operator" in text
    assert "! kube-controller-manager: would be evicted from n1" in text
    assert "To disable it: kube-apiserver, then kube-scheduler, then kube-controller-manager, then kubelet." in text
    assert text.endswith("\n! has a visible effect    - has none")
    document = as_document(findings, [TAINT_TOLERATION_COMPARISON_OPERATORS])
    assert document["breaks"] is True
    assert document["gates"][0]["findings"][0]["name"] == "p"


def test_the_report_sums_up_all_gates_and_fits_a_terminal(tmp_path: Path) -> None:
    findings = findings_in(NODE + RUNNING.replace("OTHER", ""), tmp_path)
    lines = list(AuditText(width=60).lines(findings, GATES))
    said = " ".join(" ".join(lines).split())
    assert said.endswith(
        f"1 object depends on 1 of {len(GATES)} gates; 1 would be affected if one of them were disabled."
    )
    assert "! has a visible effect    - has none" in lines
    assert sum("Nothing depends on" in line for line in lines) == 1
    assert not any("nothing depends on it" in line for line in lines)
    assert all(len(line) <= 60 for line in lines)
    coloured = "\n".join(AuditText(width=60, colour=True).lines(findings, GATES))
    assert "\x1b[31m!\x1b[0m kube-controller-manager" in coloured


def test_semver_is_disabled_in_the_scheduler_first() -> None:
    assert order_of_disabling(SEMVER_COMPARISON_OPERATORS)[0] is Component.SCHEDULER
    assert order_of_disabling(MATCH_LABEL_KEYS_IN_POD_AFFINITY) == (Component.API_SERVER,)


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default, uid: 22222222-2222-4222-8222-222222222222}
spec:
  manualSelector: true
  selector: {matchLabels: {app: once}}
  template: TEMPLATE
status: STATUS
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: default, uid: 33333333-3333-4333-8333-333333333333}
spec:
  schedule: "0 3 * * *"
  suspend: SUSPEND
  jobTemplate: {spec: {template: TEMPLATE}}
"""
TEMPLATE = (
    "{metadata: {labels: {app: once}}, "
    "spec: {restartPolicy: Never, containers: [{name: c, image: i}], "
    'tolerations: [{key: sla, operator: Gt, value: "900"}]}}'
)
REFUSED = 'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'


def of_jobs(tmp_path: Path, status: str, suspend: str) -> list[list[tuple[str, bool]]]:
    text = JOB.replace("TEMPLATE", TEMPLATE).replace("STATUS", status).replace("SUSPEND", suspend)
    return [[(one.text, one.breaks) for one in found.consequences] for found in findings_in(text, tmp_path)]


def test_a_job_wants_pods_and_a_cron_job_wants_jobs(tmp_path: Path) -> None:
    tries = ("its controller tries again with growing delays (FailedCreate)", False)
    assert of_jobs(tmp_path, "{active: 1}", "false") == [
        [(f"the template stays, but new pods of it are rejected: {REFUSED}", True), tries],
        [(f"the template stays, but new Jobs of it are rejected: spec.template.{REFUSED}", True), tries],
    ]


def test_what_has_finished_or_is_suspended_breaks_nothing(tmp_path: Path) -> None:
    complete = "{conditions: [{type: Complete, status: 'True'}]}"
    [[finished], [suspended]] = of_jobs(tmp_path, complete, "true")
    assert finished == ("has finished: nothing changes", False)
    assert suspended[0].startswith("is suspended; if it is resumed, the template stays, but new Jobs of it")
    assert not suspended[1]


def test_what_many_pods_wish_is_worked_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def counted(tolerations: Sequence[Toleration], gates: GateSet, programs: ProgramCache) -> TolerationSet:
        compiled.append(tolerations)
        return compile_tolerations(tolerations, gates, programs)

    monkeypatch.setattr(audit_module, "compile_tolerations", counted)
    waiting = RUNNING.replace("nodeName: n1", "").replace("phase: Running", "phase: Pending").replace("OTHER", "")
    many = [waiting.replace("name: p,", f"name: p{i},").replace("-111111111111", f"-{i:012d}") for i in range(20)]
    there = [NODE.replace("n1", f"n{i}") for i in range(20)]
    findings = findings_in("".join(there + many), tmp_path)
    assert len(findings) == 20
    assert {finding.consequences for finding in findings} == {findings[0].consequences}
    # With the gate and without.
    assert len(compiled) == 2
