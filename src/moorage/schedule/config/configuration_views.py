"""The scheduler's configuration file as typed views, field for field that of Kubernetes.

In: raw documents. Out: frozen views; the arguments of plugins stay raw here, because their type depends on the plugin.
Kubernetes: k8s.io/kube-scheduler/config/v1 and k8s.io/component-base/config/v1alpha1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from typing import Any

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.types.view import Int32, Int64, View

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"


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
