"""The life of a gate of tolerations: off, on, off and on again, with pods and workloads created in each phase.

One data directory, four lives of `moorage up`. All other gates are on all the time, so that what happens is this gate's
doing. What the audit says while the gate is on is what happens when it is off.
"""

from pathlib import Path

import pytest
from tests.e2e.gates.features import (
    AFFINITY_COMPLAINT,
    EXPRESSIONS,
    FEATURES,
    FIVE,
    NUMBERS,
    PLAIN,
    SIX,
    STRICT,
    VERSIONS,
    Feature,
    affine,
    claim,
    inclined,
    on,
    reader,
    volume,
    workload,
)
from tests.e2e.gates.lives import WAIT, Life, life
from tests.e2e.stories.stage import NOT_HELPFUL, pod

DAEMONS, WEB = "agents", "web"
BUSY = {"five", "strict", "plain"}
#: A pod in each life that uses another feature: nothing ever happens to it.
BYSTANDER = {NUMBERS.gate: EXPRESSIONS, VERSIONS.gate: NUMBERS, EXPRESSIONS.gate: VERSIONS}


#: Versions do all that the others do, and more. Numbers are played by their runbook in the default suite, expressions
#: by `test_workloads` and `test_combinations`, and both by this with the long runs.
LIVES = [pytest.param(one, marks=[] if one is VERSIONS else [pytest.mark.slow], id=one.gate) for one in FEATURES]


@pytest.mark.parametrize("feature", LIVES)
def test_off_on_off_and_on_again(feature: Feature, tmp_path: Path) -> None:
    on_, off = f"AllAlpha=true,{feature.gate}=true", f"AllAlpha=true,{feature.gate}=false"
    with life(tmp_path, off) as phase:
        nothing_is_accepted(phase, feature)
    with life(tmp_path, on_) as phase:
        everything_works(phase, feature)
        foretold = phase.audit(feature.gate)
        told_as_it_will_be(phase, foretold, feature)
    with life(tmp_path, off) as phase:
        assert set(phase.gates()[feature.gate].values()) == {False}
        those_who_run_stay(phase)
        those_who_wait_say_why(phase, feature)
        workloads_back_off(phase, feature)
        updates_are_ratcheted(phase, feature)
        nothing_is_accepted(phase, feature)
    with life(tmp_path, on_) as phase:
        everybody_recovers(phase, feature)


def nothing_is_accepted(phase: Life, feature: Feature) -> None:
    """The gate is off: in exactly these words."""
    refused = [feature.pod("new", nodeSelector=on("five")), workload("Deployment", "late", feature)]
    said = [
        f'Pod "new" is invalid: spec.tolerations[0]{feature.complaint}',
        f'Deployment.apps "late" is invalid: spec.template.spec.tolerations[0]{feature.complaint}',
    ]
    if feature is VERSIONS:
        refused += [affine("new"), volume("new")]
        in_pod, in_volume = AFFINITY_COMPLAINT
        said += [f'Pod "new" is invalid: {in_pod}', f'PersistentVolume "new" is invalid: {in_volume}']
    # kubectl's words about several documents at once.
    several = 'Error from server (Invalid): error when creating "STDIN": '
    assert phase.refused(*refused).splitlines() == [several + one for one in said]


def everything_works(phase: Life, feature: Feature) -> None:
    phase.create(FIVE, STRICT, PLAIN)
    phase.create(
        feature.pod("runs", nodeSelector=on("five")),
        feature.pod("leaves", nodeSelector=on("strict"), terminationGracePeriodSeconds=0),
        feature.pod("stays", {"key": "version", "operator": "Exists"}, nodeSelector=on("strict")),
        feature.pod("waits", nodeSelector=on("six")),
        BYSTANDER[feature.gate].pod("bystander", nodeSelector=on("strict")),
        pod("simple", nodeSelector=on("plain")),
        workload("Deployment", WEB, feature, on("five"), replicas=3),
        workload("DaemonSet", DAEMONS, feature),
    )
    if feature is VERSIONS:
        phase.create(volume("data"), claim("data"), reader("reads", "data"))
        phase.create(affine("affine"), affine("asks", nodeSelector=on("six")), inclined("inclined"))
        assert set(phase.lands("reads", "affine", "inclined")) <= {"five", "strict"}
    landed = phase.lands("runs", "leaves", "stays", "bystander", "simple")
    assert landed == ["five", "strict", "strict", "strict", "plain"]
    phase.kubectl(f"rollout status deployment/{WEB} {WAIT}")
    phase.kubectl(f"rollout status daemonset/{DAEMONS} {WAIT}")
    assert set(phase.pods(DAEMONS).values()) == BUSY


def told_as_it_will_be(phase: Life, foretold: dict[str, list[str]], feature: Feature) -> None:
    """The audit, before the gate is disabled. Each of these is looked at afterwards."""
    rejected = (
        f"! kube-apiserver: the template stays, but new pods of it are rejected: spec.tolerations[0]{feature.complaint}"
    )
    tries = "- kube-controller-manager: its controller tries again with growing delays (FailedCreate)"
    leave = "! kube-controller-manager: its pods are deleted from strict, and not made there"
    thin_out = "! kube-controller-manager: its pods stay on five, but are not made there again once they are gone"
    assert foretold["Pod/runs"] == ["- kube-apiserver: goes on running on five, and may be updated"]
    assert foretold["Pod/stays"] == ["- kube-apiserver: goes on running on strict, and may be updated"]
    evicted = "would be evicted from strict: taint version=5:NoExecute is tolerated by nothing else"
    assert foretold["Pod/leaves"][0] == f"! kube-controller-manager: {evicted}"
    assert foretold["Pod/waits"][0].startswith("! kube-scheduler: no node suits it yet")
    assert foretold[f"Deployment/{WEB}"] == [rejected, tries]
    assert foretold[f"DaemonSet/{DAEMONS}"] == [rejected, tries, leave, thin_out]
    for name, where in phase.pods(DAEMONS).items():
        expected = "!" if where == "strict" else "-"
        assert foretold[f"Pod/{name}"][0].startswith(expected)
    assert not {"Pod/simple", "Pod/bystander"} & set(foretold)
    if feature is VERSIONS:
        assert foretold["PersistentVolume/data"][0].startswith("! kube-scheduler: no node satisfies its node affinity")
        assert foretold["Pod/asks"][0].startswith("! kube-scheduler: no node suits it yet")


def those_who_run_stay(phase: Life) -> None:
    """But for those whose toleration of a NoExecute taint is not seen any more."""
    phase.is_gone("leaves")
    assert phase.event("TaintManagerEviction", "Pod", **{"involvedObject.name": "leaves"}) == (
        "Marking for deletion Pod default/leaves"
    )
    kept = ("runs", "stays", "bystander", "simple")
    assert phase.lands(*kept) == ["five", "strict", "strict", "plain"]
    assert len(phase.pods(WEB)) == 3


def those_who_wait_say_why(phase: Life, feature: Feature) -> None:
    """A node that would suit them changes nothing."""
    why = (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        f"2 node(s) had untolerated taint {{version: 5}} ({feature.obstacle}). " + NOT_HELPFUL.format(3)
    )
    phase.is_pending_because("waits", why)
    if feature is VERSIONS:
        asked = f"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector ({feature.obstacle}). "
        phase.is_pending_because("asks", asked + NOT_HELPFUL.format(3))
    phase.create(SIX, pod("late", {"operator": "Exists"}, nodeSelector=on("six")))
    assert phase.lands("late") == ["six"]
    if feature is VERSIONS:
        # A pod that is new and has nothing of the feature: its volume has.
        phase.create(reader("rereads", "data"))
        volumes = (
            f"0/4 nodes are available: 4 node(s) didn't match PersistentVolume's node affinity ({feature.obstacle}). "
        )
        phase.is_pending_because("rereads", volumes + NOT_HELPFUL.format(4))
    assert phase.read("pod waits", "{.status.phase} {.spec.nodeName}") == "Pending "


def workloads_back_off(phase: Life, feature: Feature) -> None:
    """A controller whose template is refused says so and takes its time."""
    victim = next(iter(phase.pods(WEB)))
    phase.kubectl(f"delete pod {victim} --now")
    phase.kubectl(f"wait --for=condition=ReplicaFailure deployment/{WEB} {WAIT}")
    said = phase.event("FailedCreate", "ReplicaSet")
    owner, _, _ = victim.rpartition("-")
    assert said.startswith(f'Error creating: Pod "{owner}-')
    assert said.endswith(f'" is invalid: spec.tolerations[0]{feature.complaint}')
    status = phase.object(f"deployment {WEB}")["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    # Daemons have left the node whose taint drives them out; from where they are only not let in they are missed later.
    phase.until(f"daemonset/{DAEMONS}", "{.status.desiredNumberScheduled}", "1")
    daemons = {where: name for name, where in phase.pods(DAEMONS).items()}
    assert set(daemons) == {"five", "plain"}
    phase.kubectl(f"delete pod {daemons['five']} --now")
    phase.until(f"daemonset/{DAEMONS}", "{.status.currentNumberScheduled}", "1")
    assert set(phase.pods(DAEMONS).values()) == {"plain"}
    phase.does_not_loop_hot("replicaset-controller")


def updates_are_ratcheted(phase: Life, feature: Feature) -> None:
    """What an object uses already it may go on using, and more of it; what it does not use it may not start to."""
    more = [{"op": "add", "path": "/spec/tolerations/-", "value": feature.another()}]
    phase.kubectl("label pods runs waits seen=yes")
    assert phase.patch("pods runs waits", more).status == 0
    said = phase.patch("pod simple", more).err
    assert said.strip() == f'The Pod "simple" is invalid: spec.tolerations[2]{feature.complaint}'
    workloads = f"deployment/{WEB} daemonset/{DAEMONS}"
    phase.kubectl(f"annotate {workloads} seen=yes")
    in_template = [{**more[0], "path": "/spec/template/spec/tolerations/-"}]
    assert phase.patch(f"{workloads} --dry-run=server", in_template).status == 0
    bare = workload("Deployment", "bare", feature, replicas=0)
    using = bare["spec"]["template"]["spec"].pop("tolerations")
    phase.create(bare)
    said = phase.patch(
        "deployment bare", [{"op": "add", "path": "/spec/template/spec/tolerations", "value": using}]
    ).err
    assert said.strip() == feature.complaint_about("Deployment", "bare", "spec.template.spec")
    phase.kubectl("delete deployment bare")
    if feature is VERSIONS:
        volumes_are_ratcheted(phase)


def volumes_are_ratcheted(phase: Life) -> None:
    phase.kubectl("label pv data seen=yes")
    bare = volume("bare")
    del bare["spec"]["claimRef"]
    affinity = bare["spec"].pop("nodeAffinity")
    phase.create(bare)
    said = phase.patch("pv bare", [{"op": "add", "path": "/spec/nodeAffinity", "value": affinity}]).err
    assert said.strip() == f'The PersistentVolume "bare" is invalid: {AFFINITY_COMPLAINT[1]}'


def everybody_recovers(phase: Life, feature: Feature) -> None:
    """Nothing is done but that the gate is on again."""
    assert phase.lands("waits") == ["six"]
    phase.kubectl(f"rollout status deployment/{WEB} {WAIT}")
    phase.until(f"daemonset/{DAEMONS}", "{.status.numberReady}", "4")
    assert set(phase.pods(DAEMONS).values()) == {*BUSY, "six"}
    assert len(phase.pods(WEB)) == 3
    assert phase.lands("runs", "stays", "bystander", "simple") == ["five", "strict", "strict", "plain"]
    phase.create(feature.pod("new", nodeSelector=on("strict")))
    assert phase.lands("new") == ["strict"]
    if feature is VERSIONS:
        assert set(phase.lands("asks", "rereads", "reads")) <= {"five", "six", "strict"}
