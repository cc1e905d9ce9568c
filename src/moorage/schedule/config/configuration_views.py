"""Define typed views of KubeSchedulerConfiguration, and the extension points that it names.

The arguments of plugins stay raw here, because their type depends on the plugin.
Kubernetes: k8s.io/kube-scheduler/config/v1 and k8s.io/component-base/config/v1alpha1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from enum import StrEnum
from typing import Any

from moorage.model.types.view import ABSENT_LIST, Int32, Int64, View

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"


class Point(StrEnum):
    """One extension point of the scheduling framework. `multiPoint`, which stands for all of a plugin's, is not one."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def interface(self) -> str:
        """Return Kubernetes' name for a plugin of this point: `PreFilterPlugin`."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"


class Plugin(View, frozen=True, gc=False):
    name: str = ""
    weight: Int32 | None = None


class PluginSet(View, frozen=True, gc=False):
    enabled: tuple[Plugin, ...] = ABSENT_LIST
    disabled: tuple[Plugin, ...] = ABSENT_LIST


class Plugins(View, frozen=True, gc=False):
    preEnqueue: PluginSet = PluginSet()
    queueSort: PluginSet = PluginSet()
    preFilter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    postFilter: PluginSet = PluginSet()
    preScore: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    preBind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    postBind: PluginSet = PluginSet()
    multiPoint: PluginSet = PluginSet()
    placementGenerate: PluginSet = PluginSet()
    placementScore: PluginSet = PluginSet()


class PluginConfig(View, frozen=True, gc=False):
    name: str = ""
    args: Any = None


class KubeSchedulerProfile(View, frozen=True, gc=False):
    schedulerName: str | None = None
    percentageOfNodesToScore: Int32 | None = None
    plugins: Plugins = Plugins()
    pluginConfig: tuple[PluginConfig, ...] = ABSENT_LIST


class LeaderElectionConfiguration(View, frozen=True, gc=False):
    leaderElect: bool | None = None
    leaseDuration: str = ""
    renewDeadline: str = ""
    retryPeriod: str = ""
    resourceLock: str = ""
    resourceName: str = ""
    resourceNamespace: str = ""


class ClientConnectionConfiguration(View, frozen=True, gc=False):
    kubeconfig: str = ""
    acceptContentTypes: str = ""
    contentType: str = ""
    qps: float = 0.0
    burst: Int32 = 0


class KubeSchedulerConfiguration(View, frozen=True, gc=False):
    apiVersion: str = ""
    kind: str = ""
    parallelism: Int32 | None = None
    leaderElection: LeaderElectionConfiguration = LeaderElectionConfiguration()
    clientConnection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enableProfiling: bool | None = None
    enableContentionProfiling: bool | None = None
    percentageOfNodesToScore: Int32 | None = None
    podInitialBackoffSeconds: Int64 | None = None
    podMaxBackoffSeconds: Int64 | None = None
    profiles: tuple[KubeSchedulerProfile, ...] = ABSENT_LIST
    extenders: Any = None
    delayCacheUntilActive: bool = False
