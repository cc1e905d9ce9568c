"""Texts about the kinds that make pods.

In: nothing. Out: tables that `descriptions` reads.
"""

from typing import Final

TYPES: Final[dict[str, str]] = {
    "ControllerRevision": "What an object looked like once, kept for going back to.",
    "CronJob": "Makes a Job at the times of a schedule.",
    "CronJobSpec": "When jobs are made, and what they look like.",
    "DaemonSet": "Keeps one pod on every node that fits.",
    "DaemonSetSpec": "Which pods there are on every node, and how they are replaced.",
    "Deployment": "Keeps a number of equal pods, and replaces them step by step if they are to change.",
    "DeploymentSpec": "How many pods there are, what they look like, and how they are replaced.",
    "DeploymentStrategy": "How old pods are replaced by new ones.",
    "Job": "Runs pods until enough of them have succeeded.",
    "JobSpec": "How often and how many at a time pods are run, and what they look like.",
    "PodDisruptionBudget": "How many of some pods may be missing when pods are evicted on purpose.",
    "PodDisruptionBudgetSpec": "Which pods are protected, and how many must stay.",
    "PodFailurePolicy": "Which failures of pods count, and which end the job.",
    "ReplicaSet": "Keeps a number of equal pods.",
    "ReplicaSetSpec": "How many pods there are, and what they look like.",
    "RollingUpdateDeployment": "How many pods may be missing or surplus while they are replaced.",
    "Scale": "The number of pods of an object, whatever its kind.",
    "StatefulSet": "Keeps numbered pods, each with a name and volumes of its own.",
    "StatefulSetSpec": "How many pods there are, what they look like, and which volumes each has.",
}

_REPLICAS = "How many pods there are to be; 1 by default."
_SELECTOR = "Which pods belong to the object. Must match the labels of the template."
_TEMPLATE = "What the pods look like."
_READY_SECONDS = "How long a pod must have been ready to count as available."
_HISTORY = "How many old revisions are kept for going back to."

FIELDS: Final[dict[str, dict[str, str]]] = {
    "DeploymentSpec": {
        "minReadySeconds": _READY_SECONDS,
        "paused": "Whether changes of the template wait.",
        "progressDeadlineSeconds": "How long a change may make no progress before it is reported as failed.",
        "replicas": _REPLICAS,
        "revisionHistoryLimit": _HISTORY,
        "selector": _SELECTOR,
        "strategy": "How pods are replaced if the template changes.",
        "template": _TEMPLATE,
    },
    "DeploymentStrategy": {
        "rollingUpdate": "The limits of a rolling update.",
        "type": "RollingUpdate (the default) replaces pods a few at a time, Recreate ends all of them first.",
    },
    "RollingUpdateDeployment": {
        "maxSurge": "How many pods there may be beyond the wanted number: a number or a percentage.",
        "maxUnavailable": "How many pods may be missing: a number or a percentage.",
    },
    "ReplicaSetSpec": {
        "minReadySeconds": _READY_SECONDS,
        "replicas": _REPLICAS,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
    },
    "StatefulSetSpec": {
        "minReadySeconds": _READY_SECONDS,
        "ordinals": "Where the numbers of the pods start.",
        "persistentVolumeClaimRetentionPolicy": "What becomes of the volumes of pods that are gone.",
        "podManagementPolicy": "OrderedReady makes one pod after another, Parallel all at once.",
        "replicas": _REPLICAS,
        "revisionHistoryLimit": _HISTORY,
        "selector": _SELECTOR,
        "serviceName": "The service that gives the pods their names in the network.",
        "template": _TEMPLATE,
        "updateStrategy": "How pods are replaced if the template changes.",
        "volumeClaimTemplates": "Claims of which every pod gets its own.",
    },
    "DaemonSetSpec": {
        "minReadySeconds": _READY_SECONDS,
        "revisionHistoryLimit": _HISTORY,
        "selector": _SELECTOR,
        "template": "What the pods look like. They go to every node that their affinity and tolerations allow.",
        "updateStrategy": "How pods are replaced if the template changes.",
    },
    "JobSpec": {
        "activeDeadlineSeconds": "How long the job may take before it is ended and counts as failed.",
        "backoffLimit": "How many failures of pods are tolerated; 6 by default.",
        "completionMode": "NonIndexed, or Indexed if each pod has a number.",
        "completions": "How many pods must succeed.",
        "parallelism": "How many pods run at a time.",
        "podFailurePolicy": "Which failures count.",
        "selector": "Which pods belong to the job. Usually left to the server.",
        "suspend": "Whether no pods are run for now.",
        "template": _TEMPLATE,
        "ttlSecondsAfterFinished": "How long the job is kept once it is over.",
    },
    "CronJobSpec": {
        "concurrencyPolicy": "What to do if the last job still runs: Allow, Forbid or Replace.",
        "failedJobsHistoryLimit": "How many failed jobs are kept.",
        "jobTemplate": "What the jobs look like.",
        "schedule": "The times, as five fields of cron.",
        "startingDeadlineSeconds": "How late a job may be started.",
        "successfulJobsHistoryLimit": "How many successful jobs are kept.",
        "suspend": "Whether no jobs are made for now.",
        "timeZone": "The time zone of the schedule.",
    },
    "PodDisruptionBudgetSpec": {
        "maxUnavailable": "How many of the pods may be missing: a number or a percentage.",
        "minAvailable": "How many of the pods must stay: a number or a percentage.",
        "selector": "The pods that are protected.",
        "unhealthyPodEvictionPolicy": "Whether pods that are not ready may always be evicted.",
    },
}
