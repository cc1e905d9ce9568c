"""Jobs and CronJobs."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, stored, workload

from moorage.model.cron_schedule import schedule_error

NOT_NEGATIVE = "must be greater than or equal to 0"
INDEXED = {"completionMode": "Indexed", "completions": 5}
FAILURE = "spec.podFailurePolicy.rules[0]"
SUCCESS = "spec.successPolicy.rules[0]"


def failure(**rule: Any) -> Raw:
    return {"podFailurePolicy": {"rules": [rule]}}


def codes(**fields: Any) -> Raw:
    return failure(action="FailJob", onExitCodes={"operator": "In", "values": [1], **fields})


def success(**rule: Any) -> Raw:
    return {**INDEXED, "successPolicy": {"rules": [rule]}}


CASES: list[tuple[Raw, list[str]]] = [
    ({}, []),
    (
        {"parallelism": -1, "backoffLimit": -1},
        [
            f"spec.parallelism: Invalid value: -1: {NOT_NEGATIVE}",
            f"spec.backoffLimit: Invalid value: -1: {NOT_NEGATIVE}",
        ],
    ),
    ({"managedBy": "a.b/c"}, []),
    (
        {"managedBy": "abc"},
        ['spec.managedBy: Invalid value: "abc": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    ({"managedBy": "a/" + "b" * 62}, ["spec.managedBy: Too long: may not be more than 63 bytes"]),
    (
        {"completionMode": "Odd"},
        ['spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"'],
    ),
    (
        {"maxFailedIndexes": 1},
        [
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
        ],
    ),
    (
        {"completionMode": "Indexed", "parallelism": 100001},
        [
            "spec.completions: Required value: when completion mode is Indexed",
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is "
            "Indexed",
        ],
    ),
    (
        {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 100001},
        [
            "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to completions",
            "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
        ],
    ),
    (
        {"completionMode": "Indexed", "completions": 100001, "backoffLimitPerIndex": 1, "parallelism": 10001},
        [
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
            "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above "
            "100000 "
            "and used with backoff limit per index",
        ],
    ),
    (codes(), []),
    (codes(containerName="c"), []),
    (
        failure(),
        [
            f'{FAILURE}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
            f"{FAILURE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ],
    ),
    (
        failure(action="FailIndex", onPodConditions=[{"type": "x"}]),
        [f'{FAILURE}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
    ),
    (
        failure(action="Odd", onPodConditions=[{"type": "x", "status": "Odd"}]),
        [
            f'{FAILURE}.action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
            f'{FAILURE}.onPodConditions[0].status: Unsupported value: "Odd": supported values: "False", "True", '
            '"Unknown"',
        ],
    ),
    (
        codes(operator="", containerName="d", values=[2, 0, 2]),
        [
            f'{FAILURE}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
            f'{FAILURE}.onExitCodes.containerName: Invalid value: "d": must be one of the container or initContainer '
            "names "
            "in the pod template",
            f"{FAILURE}.onExitCodes.values[2]: Duplicate value: 2",
            f"{FAILURE}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
        ],
    ),
    (codes(values=[0]), [f"{FAILURE}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"]),
    (codes(values=[]), [f"{FAILURE}.onExitCodes.values: Invalid value: null: at least one value is required"]),
    (
        {**codes(), "podReplacementPolicy": "TerminatingOrFailed"},
        ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
    ),
    (
        {"successPolicy": {"rules": [{"succeededCount": 1}]}},
        [
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires '
            "indexed "
            "completion mode"
        ],
    ),
    (success(succeededIndexes="0,2-3", succeededCount=3), []),
    (success(), [f"{SUCCESS}: Required value: at least one of succeededCount or succeededIndexes must be specified"]),
    (
        success(succeededIndexes="0", succeededCount=6),
        [
            f"{SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified "
            "completions)",
            f"{SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 1 (the number of indexes in "
            "the "
            "specified succeededIndexes field)",
        ],
    ),
    *(
        (
            success(succeededIndexes=text),
            [f'{SUCCESS}.succeededIndexes: Invalid value: "{text}": error parsing succeededIndexes: {reason}'],
        )
        for text, reason in (
            ("x", 'cannot convert string to integer for index: "x"'),
            ("5", 'too large index: "5"'),
            ("2-1", "non-increasing order, previous: 2, current: 1"),
            ("2,1", "non-increasing order, previous: 2, current: 1"),
            (
                "1-2-3",
                'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts '
                "separated "
                "by '-'",
            ),
        )
    ),
    (
        {**INDEXED, "successPolicy": {}},
        [
            "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy "
            "is specified"
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), CASES)
def test_jobs(spec: Raw, expected: list[str]) -> None:
    assert complaints(workload("Job", copy.deepcopy(spec))) == expected


@pytest.mark.parametrize(
    ("policy", "spec", "expected"),
    [
        ("OnFailure", {}, None),
        ("Always", {}, 'Required value: valid values: "OnFailure", "Never"'),
        (
            "OnFailure",
            codes(),
            'Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
        ),
    ],
)
def test_restart_policies_of_jobs(policy: str, spec: Raw, expected: str | None) -> None:
    path = "spec.template.spec.restartPolicy"
    assert complaints(workload("Job", spec, restartPolicy=policy)) == (
        [] if expected is None else [f"{path}: {expected}"]
    )


def test_the_selector_is_made_from_the_uid() -> None:
    made = stored(workload("Job"))
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels == {
        "app": "web",
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
    }


@pytest.mark.parametrize(("of_job", "of_template"), [(None, None), ({}, {}), ({}, {"app": "web"}), (None, {"a": "b"})])
def test_a_job_without_labels_has_those_of_its_pods(of_job: Raw | None, of_template: Raw | None) -> None:
    job = workload("Job")
    for metadata, labels in ((job["metadata"], of_job), (job["spec"]["template"]["metadata"], of_template)):
        metadata.pop("labels", None)
        if labels is not None:
            metadata["labels"] = labels
    made = stored(job)
    labels = made["metadata"]["labels"]
    assert labels == made["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/controller-uid"] == made["metadata"]["uid"]
    assert labels is not made["spec"]["template"]["metadata"]["labels"]


def test_a_job_keeps_labels_of_its_own() -> None:
    job = workload("Job")
    job["metadata"]["labels"] = {"mine": "yes"}
    assert stored(job)["metadata"]["labels"] == {"mine": "yes"}


def test_a_selector_of_ones_own_must_be_asked_for() -> None:
    own = {"matchLabels": {"app": "web"}}
    assert [text.partition(":")[0] for text in complaints(workload("Job", {"selector": own}))] == ["spec.selector"]
    assert complaints(workload("Job", {"selector": own, "manualSelector": True})) == []
    wrong = workload("Job")
    wrong["spec"]["template"]["metadata"]["labels"]["job-name"] = "y"
    assert [text.partition(":")[0] for text in complaints(wrong)] == ["spec.template.metadata.labels[job-name]"]


def test_indexed_jobs_need_names_that_hostnames_can_be_made_of() -> None:
    made = workload("Job", INDEXED)
    made["metadata"]["name"] = "a" * 62
    assert complaints(made)[-1] == (
        f'metadata.name: Invalid value: "{"a" * 62}": will not able to create pod with invalid DNS label: {"a" * 62}-4'
    )


def changed(old: Raw, **spec: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"].update(spec)
    return [text.split(":")[0] for text in complaints(new, old)]


def test_what_may_change_of_a_job() -> None:
    old = stored(workload("Job"))
    assert changed(old, parallelism=2, suspend=True, backoffLimit=1) == []
    assert changed(old, completions=2) == ["spec.completions"]
    assert changed(old, managedBy="a.b/c") == ["spec.managedBy"]
    indexed = stored(workload("Job", INDEXED))
    assert changed(indexed, completions=3, parallelism=3) == []
    assert changed(indexed, completions=3) == ["spec.completions"]
    assert changed(indexed, completionMode="NonIndexed") == ["spec.completionMode"]


def test_a_suspended_job_may_be_steered_and_resized() -> None:
    def template_of(old: Raw, **spec: Any) -> Raw:
        made: Raw = copy.deepcopy(old["spec"]["template"])
        made["spec"].update(spec)
        return made

    running, suspended = stored(workload("Job")), stored(workload("Job", {"suspend": True}))
    affinity: Raw = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    resized = [{**running["spec"]["template"]["spec"]["containers"][0], "resources": {"requests": {"cpu": "1"}}}]
    for spec in (
        {"nodeSelector": {"a": "b"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"affinity": affinity},
        {"containers": resized},
    ):
        assert changed(suspended, template=template_of(suspended, **spec)) == []
        assert changed(running, template=template_of(running, **spec)) == ["spec.template"]
    assert changed(suspended, template=template_of(suspended, hostname="h")) == ["spec.template.spec"]
    with_affinity = stored(workload("Job", {"suspend": True}, affinity={**affinity, "podAffinity": {}}))
    assert changed(with_affinity, template=template_of(with_affinity, affinity=None)) == ["spec.template.spec"]
    only_nodes = stored(workload("Job", {"suspend": True}, affinity=affinity))
    assert changed(only_nodes, template=template_of(only_nodes, affinity=None)) == []
    started = {"startTime": "2024-01-01T00:00:00Z"}
    rests = {"conditions": [{"type": "Suspended", "status": "True"}]}
    for status, expected in (
        ({"active": 1}, ["spec.template"]),
        (started, ["spec.template"]),
        (started | rests, []),
        (started | rests | {"active": 1}, ["spec.template"]),
    ):
        known = copy.deepcopy(suspended)
        known["status"] = status
        assert changed(known, template=template_of(known, nodeSelector={"a": "b"})) == expected


def test_an_updated_job_is_judged_as_a_new_one_too() -> None:
    old = stored(workload("Job"))
    assert changed(old, parallelism=-1) == ["spec.parallelism", "spec.parallelism"]
    template = copy.deepcopy(old["spec"]["template"])
    template["metadata"]["labels"]["batch.kubernetes.io/job-name"] = "other"
    prefixed = "spec.template.metadata.labels[batch.kubernetes.io/job-name]"
    assert changed(old, template=template) == [prefixed, "spec.template"]
    # A job from before there were labels with a prefix need not get them.
    legacy = copy.deepcopy(old)
    for name in ("batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"):
        del legacy["spec"]["template"]["metadata"]["labels"][name]
    uid = legacy["metadata"]["uid"]
    legacy["spec"]["selector"] = {"matchLabels": {"controller-uid": uid}}
    assert changed(legacy, parallelism=2) == []


def test_an_old_selector_may_keep_its_mistake() -> None:
    odd = {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["-"]}]}
    for kind in ("Job", "DaemonSet"):
        old = stored(workload(kind))
        old["spec"]["selector"] = {**old["spec"]["selector"], **odd}
        assert changed(old, minReadySeconds=1, parallelism=2) == []


def test_a_job_without_labels_shares_those_of_its_template() -> None:
    made = stored(workload("Job"))
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    assert made["metadata"]["labels"]["job-name"] == "x"
    assert made["metadata"]["labels"] is not made["spec"]["template"]["metadata"]["labels"]


CRON_CASES: list[tuple[Raw, list[str]]] = [
    ({}, []),
    ({"schedule": ""}, ["spec.schedule: Required value"]),
    (
        {"schedule": "* * * *"},
        ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
    ),
    (
        {"schedule": "TZ=UTC 0 0 * * *"},
        [
            'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone '
            "field "
            "instead"
        ],
    ),
    ({"timeZone": "UTC"}, []),
    ({"timeZone": ""}, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
    ({"timeZone": "<a>"}, ['spec.timeZone: Invalid value: "\\u003ca\\u003e": unknown time zone <a>']),
    ({"timeZone": "a/../b"}, ['spec.timeZone: Invalid value: "a/../b": unknown time zone a/../b']),
    (
        {"timeZone": "Local"},
        [
            'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in '
            "https://www.iana.org/time-zones"
        ],
    ),
    (
        {"timeZone": "local"},
        [
            'spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in '
            "https://www.iana.org/time-zones",
            'spec.timeZone: Invalid value: "local": unknown time zone local',
        ],
    ),
    (
        {"concurrencyPolicy": "Odd"},
        ['spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"'],
    ),
    ({"startingDeadlineSeconds": -1}, [f"spec.startingDeadlineSeconds: Invalid value: -1: {NOT_NEGATIVE}"]),
]


@pytest.mark.parametrize(("spec", "expected"), CRON_CASES)
def test_cron_jobs(spec: Raw, expected: list[str]) -> None:
    made = workload("CronJob")
    made["spec"].update(spec)
    assert complaints(made) == expected


def test_the_job_of_a_cron_job_has_no_selector() -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "manualSelector": True}
    assert complaints(workload("CronJob", spec)) == [
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"app":"web"}}: `selector` will be '
        "auto-generated",
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ]


def test_names_and_updates_of_cron_jobs() -> None:
    made = workload("CronJob")
    made["metadata"]["name"] = "a" * 53
    assert complaints(made)[-1].endswith("must be no more than 52 characters")
    old = stored(workload("CronJob"))
    old["spec"]["schedule"] = "TZ=UTC 0 0 * * *"
    assert complaints(old, old) == []
    new = copy.deepcopy(old)
    new["spec"]["timeZone"] = "UTC"
    assert [text.partition(": c")[2] for text in complaints(new, old)] == [
        "annot use both timeZone field and TZ or CRON_TZ in schedule"
    ]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("*/15 0-23/2 1,15 jan-dec MON", None),
        ("0 0 ? * 0", None),
        ("@hourly", None),
        ("@every 1h30m", None),
        ("CRON_TZ=UTC @daily", None),
        ("TZ=UTC", "invalid schedule format: TZ=UTC"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("@never", "unrecognized descriptor: @never"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("* * * * -1", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
    ],
)
def test_schedules(schedule: str, expected: str | None) -> None:
    assert schedule_error(schedule) == expected
