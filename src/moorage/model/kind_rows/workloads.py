"""Kinds that make pods."""

from typing import Final

from moorage.model.kind_rows.kind import ALL, POD_TEMPLATE, SCALED, WITH_STATUS, Kind
from moorage.model.types.scaling import autoscaler_v1
from moorage.model.types.scaling.autoscaler import HorizontalPodAutoscaler
from moorage.model.types.workload import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

ROWS: Final = (
    Kind(
        "apps/v1",
        "deployments",
        Deployment,
        ("deploy",),
        template=POD_TEMPLATE,
        categories=ALL,
        subresources=SCALED,
        status_resets=(("spec",), ("metadata", "labels")),
    ),
    Kind("apps/v1", "replicasets", ReplicaSet, ("rs",), template=POD_TEMPLATE, categories=ALL, subresources=SCALED),
    Kind(
        "v1",
        "replicationcontrollers",
        ReplicationController,
        ("rc",),
        template=POD_TEMPLATE,
        categories=ALL,
        subresources=SCALED,
        dependents="orphan",
    ),
    Kind("apps/v1", "statefulsets", StatefulSet, ("sts",), template=POD_TEMPLATE, categories=ALL, subresources=SCALED),
    Kind("apps/v1", "daemonsets", DaemonSet, ("ds",), template=POD_TEMPLATE, categories=ALL, subresources=WITH_STATUS),
    Kind("v1", "podtemplates", PodTemplate, template=("template",), returns_deleted=True, read_by_plan=False),
    Kind(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        HorizontalPodAutoscaler,
        ("hpa",),
        categories=ALL,
        subresources=WITH_STATUS,
        older_versions=("v1",),
        older_views={"v1": autoscaler_v1.HorizontalPodAutoscaler},
        read_by_plan=False,
    ),
    Kind("apps/v1", "controllerrevisions", ControllerRevision, read_by_plan=False),
    Kind("batch/v1", "jobs", Job, template=POD_TEMPLATE, categories=ALL, subresources=WITH_STATUS, dependents="orphan"),
    Kind(
        "batch/v1",
        "cronjobs",
        CronJob,
        ("cj",),
        template=("spec", "jobTemplate", *POD_TEMPLATE),
        categories=ALL,
        subresources=WITH_STATUS,
    ),
)
