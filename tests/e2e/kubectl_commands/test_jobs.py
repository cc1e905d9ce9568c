"""Jobs and CronJobs with kubectl: run to completion, failure, deletion, and a Job made of a CronJob."""

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "3")

_INDEXED = """
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec:
  completions: 3
  parallelism: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{name: pi, image: pi}]
"""

_FAILING = """
apiVersion: batch/v1
kind: Job
metadata: {name: fails}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {simulate.moorage.dev/exit-code: "3"}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i}]
"""


def test_a_job_completes_and_takes_its_pods_along(kubectl: Kubectl) -> None:
    kubectl("apply -f -", _INDEXED)
    kubectl("wait --for=condition=Complete job/pi --timeout=120s")
    assert kubectl("get job pi --no-headers").out.split()[:3] == ["pi", "Complete", "3/3"]
    assert kubectl("get job pi -o jsonpath={.status.completedIndexes}").out == "0-2"
    assert len(kubectl("get pods -l batch.kubernetes.io/job-name=pi -o name").lines) == 3
    said = kubectl("describe job pi").out
    assert "3 Succeeded / 0 Failed" in said
    assert "Job completed" in said
    kubectl("delete job pi --cascade=foreground")
    assert kubectl("get pods -o name").lines == []


def test_a_job_fails(kubectl: Kubectl) -> None:
    kubectl("apply -f -", _FAILING)
    kubectl("wait --for=condition=Failed job/fails --timeout=120s")
    assert kubectl("get job fails -o jsonpath={.status.failed}").out == "1"
    assert "Job has reached the specified backoff limit" in kubectl("describe job fails").out


def test_a_job_is_made_of_a_cron_job(kubectl: Kubectl) -> None:
    kubectl("create cronjob yearly --image=i --schedule='0 0 1 1 *' -- true")
    assert kubectl("create job by-hand --from=cronjob/yearly").out == "job.batch/by-hand created\n"
    kubectl("wait --for=condition=Complete job/by-hand --timeout=120s")
    kubectl("delete cronjob yearly")
    kubectl("wait --for=delete job/by-hand --timeout=120s")
