"""Probes and lifecycle hooks of a container, and the actions both are made of.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import Signal, URIScheme
from moorage.model.types.view import Int32, Int64, View


class ExecAction(View, frozen=True, gc=False):
    command: tuple[str, ...] = ABSENT_LIST


class HTTPHeader(View, frozen=True, gc=False):
    name: str = ""
    value: str = ""


class HTTPGetAction(View, frozen=True, gc=False):
    path: str = ""
    port: Int32 | str = 0
    host: str = ""
    scheme: URIScheme = ""
    httpHeaders: tuple[HTTPHeader, ...] = ABSENT_LIST


class TCPSocketAction(View, frozen=True, gc=False):
    port: Int32 | str = 0
    host: str = ""


class GRPCAction(View, frozen=True, gc=False):
    port: Int32 = 0
    service: str | None = None


class ProbeHandler(View, frozen=True, gc=False):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None


class Probe(ProbeHandler, frozen=True, gc=False):
    initialDelaySeconds: Int32 = 0
    timeoutSeconds: Int32 = 0
    periodSeconds: Int32 = 0
    successThreshold: Int32 = 0
    failureThreshold: Int32 = 0
    terminationGracePeriodSeconds: Int64 | None = None


class SleepAction(View, frozen=True, gc=False):
    seconds: Int64 = 0


class LifecycleHandler(View, frozen=True, gc=False):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(View, frozen=True, gc=False):
    postStart: LifecycleHandler | None = None
    preStop: LifecycleHandler | None = None
    stopSignal: Signal | None = None
