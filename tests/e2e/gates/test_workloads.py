"""The life of a gate as StatefulSets, Jobs and CronJobs see it: off, on, off and on again.

Deployments, DaemonSets and bare pods have theirs in `test_life`, with all that is said about them there.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gates.features import EXPRESSIONS, FEATURES, FIVE, Feature, on, workload
from tests.e2e.gates.lives import WAIT, Life, life

STATEFUL, JOB, CRON = "db", "batch", "nightly"
_HOURS = {"simulate.moorage.dev/completes-after": "2h"}

#: One feature in the default suite, the others with the long runs: the controllers do not know which it is.
LIVES = [pytest.param(one, marks=[] if one is EXPRESSIONS else [pytest.mark.slow], id=one.gate) for one in FEATURES]


@pytest.mark.parametrize("feature", LIVES)
def test_off_on_off_and_on_again(feature: Feature, tmp_path: Path) -> None:
    on_, off = f"AllAlpha=true,{feature.gate}=true", f"AllAlpha=true,{feature.gate}=false"
    with life(tmp_path, off) as phase:
        nothing_is_accepted(phase, feature)
    with life(tmp_path, on_) as phase:
        everything_works(phase, feature)
        told_as_it_will_be(phase, feature)
    with life(tmp_path, off) as phase:
        those_who_run_stay(phase)
        a_stateful_set_waits_for_its_pod(phase, feature)
        a_job_waits_for_its_pod(phase, feature)
        a_cron_job_makes_no_jobs(phase, feature)
        updates_are_ratcheted(phase, feature)
    with life(tmp_path, on_) as phase:
        everybody_recovers(phase)


def nothing_is_accepted(phase: Life, feature: Feature) -> None:
    several = 'Error from server (Invalid): error when creating "STDIN": '
    in_template = f"spec.template.spec.tolerations[0]{feature.complaint}"
    assert phase.refused(stateful_set(feature), job(JOB, feature), cron_job(feature)).splitlines() == [
        f'{several}StatefulSet.apps "{STATEFUL}" is invalid: {in_template}',
        f'{several}Job.batch "{JOB}" is invalid: {in_template}',
        f'{several}CronJob.batch "{CRON}" is invalid: spec.jobTemplate.{in_template}',
    ]


def everything_works(phase: Life, feature: Feature) -> None:
    phase.create(FIVE, stateful_set(feature), job(JOB, feature), cron_job(feature))
    phase.create(job_of_cron_job(phase, "first"))
    phase.kubectl(f"rollout status statefulset/{STATEFUL} {WAIT}")
    for name in (JOB, "first"):
        phase.until(f"job/{name}", "{.status.ready}", "1")
    assert phase.pods(STATEFUL) == {f"{STATEFUL}-0": "five", f"{STATEFUL}-1": "five"}


def told_as_it_will_be(phase: Life, feature: Feature) -> None:
    foretold = phase.audit(feature.gate)
    refused = f"spec.tolerations[0]{feature.complaint}"
    pods = f"! kube-apiserver: the template stays, but new pods of it are rejected: {refused}"
    jobs = f"! kube-apiserver: the template stays, but new Jobs of it are rejected: spec.template.{refused}"
    tries = "- kube-controller-manager: its controller tries again with growing delays (FailedCreate)"
    assert foretold[f"StatefulSet/{STATEFUL}"] == foretold[f"Job/{JOB}"] == [pods, tries]
    assert foretold[f"CronJob/{CRON}"] == [
        f"- kube-apiserver: is suspended; if it is resumed, {jobs.removeprefix('! kube-apiserver: ')}"
    ]


def those_who_run_stay(phase: Life) -> None:
    assert phase.lands(f"{STATEFUL}-0", f"{STATEFUL}-1") == ["five", "five"]
    assert phase.read(f"job {JOB}", "{.status.active} {.status.ready}") == "1 1"


def a_stateful_set_waits_for_its_pod(phase: Life, feature: Feature) -> None:
    phase.kubectl(f"delete pod {STATEFUL}-1 --now --wait=false")
    said = phase.event("FailedCreate", "StatefulSet")
    name = f"{STATEFUL}-1"
    assert said == (
        f"Create Pod {name} in StatefulSet {STATEFUL} failed error: "
        f'Pod "{name}" is invalid: spec.tolerations[0]{feature.complaint}'
    )
    phase.until(f"statefulset/{STATEFUL}", "{.status.replicas}", "1")
    phase.does_not_loop_hot("statefulset-controller")


def a_job_waits_for_its_pod(phase: Life, feature: Feature) -> None:
    [gone] = phase.pods(JOB)
    phase.kubectl(f"delete pod {gone} --now --wait=false")
    said = phase.event("FailedCreate", "Job")
    assert said.startswith(f'Error creating: Pod "{JOB}-')
    assert said.endswith(f'" is invalid: spec.tolerations[0]{feature.complaint}')
    assert phase.read(f"job {JOB}", "{.status.conditions}") == ""
    phase.does_not_loop_hot("job-controller")


def a_cron_job_makes_no_jobs(phase: Life, feature: Feature) -> None:
    assert phase.refused(job_of_cron_job(phase, "second")) == feature.complaint_about(
        "Job", "second", "spec.template.spec"
    )


def updates_are_ratcheted(phase: Life, feature: Feature) -> None:
    everything = f"statefulset/{STATEFUL} job/{JOB} cronjob/{CRON}"
    phase.kubectl(f"annotate {everything} seen=yes")
    phase.kubectl(f"scale statefulset/{STATEFUL} --replicas=3")
    more = {"op": "add", "path": "/spec/template/spec/tolerations/-", "value": feature.another()}
    assert phase.patch(f"statefulset {STATEFUL} --dry-run=server", [more]).status == 0
    in_jobs = {**more, "path": f"/spec/jobTemplate{more['path']}"}
    assert phase.patch(f"cronjob {CRON} --dry-run=server", [in_jobs]).status == 0
    bare = cron_job(feature, name="bare")
    using = bare["spec"]["jobTemplate"]["spec"]["template"]["spec"].pop("tolerations")
    phase.create(bare)
    begins = {"op": "add", "path": "/spec/jobTemplate/spec/template/spec/tolerations", "value": using}
    said = phase.patch("cronjob bare", [begins]).err.strip()
    assert said == feature.complaint_about("CronJob", "bare", "spec.jobTemplate.spec.template.spec")


def everybody_recovers(phase: Life) -> None:
    phase.kubectl(f"rollout status statefulset/{STATEFUL} {WAIT}")
    assert phase.pods(STATEFUL) == dict.fromkeys((f"{STATEFUL}-{number}" for number in range(3)), "five")
    phase.until(f"job/{JOB}", "{.status.ready}", "1")
    assert list(phase.pods(JOB).values()) == ["five"]
    phase.create(job_of_cron_job(phase, "second"))
    phase.until("job/second", "{.status.ready}", "1")


# -- the cast ---------------------------------------------------------------------------------------------------------


def stateful_set(feature: Feature) -> dict[str, Any]:
    return workload("StatefulSet", STATEFUL, feature, on("five"), serviceName=STATEFUL, replicas=2)


def job(name: str, feature: Feature) -> dict[str, Any]:
    """It runs for as long as somebody looks."""
    made = workload("Job", name, feature, on("five"))
    del made["spec"]["selector"]
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = _HOURS
    template["spec"]["restartPolicy"] = "Never"
    return {**made, "apiVersion": "batch/v1"}


def cron_job(feature: Feature, name: str = CRON) -> dict[str, Any]:
    """Nobody waits for the hour: Jobs are made of it by hand."""
    spec = {"schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"spec": job(name, feature)["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec}


def job_of_cron_job(phase: Life, name: str) -> dict[str, Any]:
    """What `kubectl create job --from` does, but without dropping the fields that this kubectl has no name for."""
    spec = phase.object(f"cronjob {CRON}")["spec"]["jobTemplate"]["spec"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
