"""The gates that Kubernetes 1.36 has on by default and that can still be switched, and what Moorage makes of each.

`python -m tests.release_gates` writes the table into docs/gates.md; a test fails when it is out of date. Names, stages
and defaults are those of pkg/features and apiserver/pkg/features; gates of client libraries are left out.
"""

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gates.md"
BEGIN, END = "<!-- release gates: python -m tests.release_gates -->\n", "<!-- end of release gates -->\n"
HAS, NEEDS_NOT, LACKS = "has it", "does not need it", "lacks it"
_STATES = {"+": HAS, "o": NEEDS_NOT, "-": LACKS}

#: Gates that are general and locked to on: they cannot be switched, so they have no rows.
LOCKED = 72

_TABLE = """
AllowParsingUserUIDFromCertAuth BETA - users of certificates have no UID
AllowServiceExternalIPs GA + `spec.externalIPs` of Services is stored and shown; no proxy routes them
APIResponseCompression BETA - answers are sent as they are stored
APIServerIdentity BETA o Leases of API servers serve storage versions and peer proxies, neither of which is here
AuthorizePodWebsocketUpgradeCreatePermission BETA o no container runs, so that exec, attach and port-forward answer 400
ClearingNominatedNodeNameAfterBinding BETA + a switch
ComponentFlagz BETA - `/flagz` is not served
ComponentStatusz BETA - `/statusz` is not served
ConstrainedImpersonation BETA - impersonation needs the verb `impersonate`
ContainerCheckpoint BETA o no container runs
ContainerRestartRules BETA + rules are validated; containers of a simulated pod all do the same, by its `restartPolicy`
CPUManagerPolicyBetaOptions BETA o no CPU is assigned
CRDObservedGenerationTracking BETA - conditions of definitions have no `observedGeneration`
CustomCPUCFSQuotaPeriod GA o no container runs
DeclarativeValidationBeta BETA o rules are written once, in one form
DeploymentReplicaSetTerminatingReplicas BETA + `status.terminatingReplicas` is counted
DetectCacheInconsistency BETA o lists are read from the store's own memory
DisableCPUQuotaWithExclusiveCPUs DEPRECATED o no CPU is assigned
DRAConsumableCapacity BETA + a switch
DRADeviceBindingConditions BETA + a switch
DRADeviceTaints BETA + a switch
DRAExtendedResource BETA + a switch
DRAPartitionableDevices BETA + a switch
DRAPrioritizedList GA + a switch
DRAResourceClaimDeviceStatus BETA + a switch
DRAResourceClaimGranularStatusAuthorization BETA + a switch
DRASchedulerFilterTimeout BETA + a switch; a search is bounded by steps
EnvFiles BETA + variables from files are validated; no container reads them
ExtendWebSocketsToKubelet BETA + declared by nodes; nothing is streamed
GracefulNodeShutdown BETA + a switch, played by an [annotation](kubelet.md#nodes)
GracefulNodeShutdownBasedOnPodPriority BETA + a switch, played likewise
HostnameOverride BETA + validated; no container has a host name
HPAConfigurableTolerance BETA + a switch
InPlacePodLevelResourcesVerticalScaling BETA + a switch
InPlacePodVerticalScalingInitContainers BETA + a switch; init containers have completed in no time
KubeletCrashLoopBackOffMax BETA - the longest back-off is five minutes
KubeletEnsureSecretPulledImages BETA o no image is pulled
KubeletPodResourcesListUseActivePods DEPRECATED o kubelets serve no PodResources API
KubeletSeparateDiskGC BETA o no image is kept
KubeletServiceAccountTokenForCredentialProviders BETA o no image is pulled
ListFromCacheSnapshot BETA + lists at a revision, and their pages, are read from memory
MatchLabelKeysInPodTopologySpread BETA + a switch
MatchLabelKeysInPodTopologySpreadSelectorMerge BETA + a switch
MutablePodResourcesForSuspendedJobs BETA + resources of a suspended Job may change
MutableSchedulingDirectivesForSuspendedJobs BETA + scheduling directives of a suspended Job may change
MutatingAdmissionPolicy GA - policies are stored and validated, and change nothing
NodeDeclaredFeatures BETA + a switch
NominatedNodeNameForExpectation BETA + a switch
OpenAPIEnums BETA + published schemas have enums
OpportunisticBatching BETA + pods of one shape share what was found out for the first: see [engine.md](engine.md)
PLEGOnDemandRelist BETA o no container runtime is listed
PodDeletionCost BETA + ReplicaSets delete cheaper pods first
PodLevelResources BETA + `spec.resources` of pods counts in scheduling, quotas, limits and kubelets
PodReadyToStartContainersCondition BETA + the condition is reported
PodTopologyLabelsAdmission BETA + a switch
PortForwardWebsockets BETA o no container runs
PreventStaticPodAPIReferences BETA o there are no static pods; mirror pods that refer to objects are refused
RelaxedServiceNameValidation BETA + names of Services may begin with a digit
ReloadKubeletClientCAFile BETA o simulated kubelets do not listen
ReloadKubeletServerCertificateFile BETA o simulated kubelets do not listen
RemoteRequestHeaderUID BETA - there is no authenticating proxy in front
ResourceHealthStatus BETA - kubelets report no health of devices
ResourceHealthStatusMessage BETA - likewise
RestartAllContainersOnContainerExits BETA + a switch of the kubelet, which declares it; rules are not acted on
RotateKubeletServerCertificate BETA o simulated kubelets do not listen
SchedulerAsyncPreemption BETA + victims are deleted while the scheduler goes on
SchedulerPopFromBackoffQ BETA + pods are tried before their back-off ends if no other waits
ServiceAccountNodeAudienceRestriction BETA + nodes get tokens for audiences that their pods name
ServiceCIDRStatusFieldWiping DEPRECATED o ServiceCIDRs are written with their status apart
SizeBasedListCostEstimate BETA o requests have no priority and fairness
StaleControllerConsistencyDaemonSet BETA + controllers wait until the world shows what they wrote
StaleControllerConsistencyJob BETA + likewise
StaleControllerConsistencyReplicaSet BETA + likewise
StaleControllerConsistencyStatefulSet BETA + likewise
StatefulSetSemanticRevisionComparison BETA - revisions are compared as they are written
StorageNamespaceIndex DEPRECATED o objects are kept by namespace
StorageVersionHash BETA + discovery has the hashes
StrictIPCIDRValidation BETA + addresses are validated strictly
StructuredAuthenticationConfigurationEgressSelector BETA o no issuer outside is asked
StructuredAuthenticationConfigurationJWKSMetrics BETA o likewise
TokenRequestServiceAccountUIDValidation BETA + a token request is refused if its account is another one by then
TopologyManagerPolicyBetaOptions BETA o no device is aligned with CPUs
TranslateStreamCloseWebsocketRequests BETA o nothing is streamed
UnauthenticatedHTTP2DOSMitigation BETA o HTTP/1.1 is served
UnknownVersionInteroperabilityProxy BETA o all API servers of one store serve the same kinds
WatchCacheInitializationPostStartHook BETA o a server is ready when its memory is
WatchList BETA + a watch can begin with the objects that exist
WindowsGracefulNodeShutdown BETA o simulated nodes are Linux nodes
"""


class ReleaseGate(NamedTuple):
    """A gate of Kubernetes 1.36 that is on by default."""

    name: str
    stage: str
    state: str
    reason: str


def release_gates() -> list[ReleaseGate]:
    rows = (line.split(" ", 3) for line in _TABLE.strip().splitlines())
    return [ReleaseGate(name, stage, _STATES[state], reason) for name, stage, state, reason in rows]


def table() -> str:
    """Return the section of docs/gates.md between its marks."""
    gates = release_gates()
    counts = ", ".join(f"{sum(gate.state == state for gate in gates)} {state}" for state in _STATES.values())
    lines = [
        f"Of {len(gates)} gates: {counts}. {LOCKED} more are general and locked to on in 1.36, and cannot be switched.",
        "",
        "| gate | stage | Moorage | |",
        "|---|---|---|---|",
        *(f"| `{gate.name}` | {gate.stage} | {gate.state} | {gate.reason} |" for gate in gates),
    ]
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
