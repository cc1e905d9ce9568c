"""Security contexts, user namespaces, sysctls, and the operating system."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_SUBDOMAIN, container_errors, pod_errors

from moorage.admit.options import ValidationOptions

PRIVILEGED_ALLOWED = ValidationOptions(resource_is_pod=True, allow_privileged=True)
IDS = "must be between 0 and 2147483647, inclusive"
ON_WINDOWS = "Forbidden: cannot be set for a windows pod"
ON_LINUX = "Forbidden: windows options cannot be set for a linux pod"
TYPES = '"Localhost", "RuntimeDefault", "Unconfined"'
LOCALHOST = {"type": "Localhost", "localhostProfile": "p"}

CONTAINER: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"privileged": False, "runAsUser": 0, "runAsGroup": 2**31 - 1, "procMount": "Default"}, []),
    ({"privileged": True}, [".privileged: Forbidden: disallowed by cluster policy"]),
    (
        {"runAsUser": -1, "runAsGroup": 2**31},
        [f".runAsUser: Invalid value: -1: {IDS}", f".runAsGroup: Invalid value: 2147483648: {IDS}"],
    ),
    ({"procMount": ""}, ['.procMount: Unsupported value: "": supported values: "Default", "Unmasked"']),
    ({"procMount": "Unmasked"}, ['.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`']),
    ({"seccompProfile": LOCALHOST, "appArmorProfile": LOCALHOST}, []),
    (
        {"seccompProfile": {}, "appArmorProfile": {}},
        [
            ".seccompProfile.type: Required value: type is required when seccompProfile is set",
            ".appArmorProfile.type: Required value: type is required when appArmorProfile is set",
        ],
    ),
    (
        {"seccompProfile": {"type": "Odd", "localhostProfile": "x"}, "appArmorProfile": {"type": "Odd"}},
        [
            f'.seccompProfile.type: Unsupported value: "Odd": supported values: {TYPES}',
            '.seccompProfile.localhostProfile: Invalid value: {"Type":"Odd","LocalhostProfile":"x"}: '
            "can only be set when seccomp type is Localhost",
            f'.appArmorProfile.type: Unsupported value: "Odd": supported values: {TYPES}',
        ],
    ),
    (
        {"seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost"}},
        [
            ".seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            ".appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
        ],
    ),
    (
        {"seccompProfile": {**LOCALHOST, "localhostProfile": "/x/.."}},
        [
            '.seccompProfile.localhostProfile: Invalid value: "/x/..": must be a relative path',
            ".seccompProfile.localhostProfile: Invalid value: \"/x/..\": must not contain '..'",
        ],
    ),
    (
        {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"}},
        ['.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost'],
    ),
    (
        {"appArmorProfile": {**LOCALHOST, "localhostProfile": ""}},
        [".appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost"],
    ),
    (
        {"appArmorProfile": {**LOCALHOST, "localhostProfile": " x"}},
        ['.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace'],
    ),
    (
        {"appArmorProfile": {**LOCALHOST, "localhostProfile": "x" * 4096}},
        [".appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"],
    ),
    ({"allowPrivilegeEscalation": True, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}, []),
    (
        {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["CAP_SYS_ADMIN"]},
            "runAsUser": 7,
            "seLinuxOptions": {"level": "s0"},
            "windowsOptions": {"hostProcess": False},
            "seccompProfile": LOCALHOST,
        },
        [
            ': Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,'
            '"SELinuxOptions":{"User":"","Role":"","Type":"","Level":"s0"},'
            '"WindowsOptions":{"GMSACredentialSpecName":null,"GMSACredentialSpec":null,"RunAsUserName":null,'
            '"HostProcess":false},"RunAsUser":7,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
            '"AllowPrivilegeEscalation":false,"ProcMount":null,'
            '"SeccompProfile":{"Type":"Localhost","LocalhostProfile":"p"},"AppArmorProfile":null}: '
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        ],
    ),
]

POD: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"supplementalGroups": [0], "supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "Recursive"}, {}, []),
    (
        {"fsGroup": -1, "runAsUser": -2, "runAsGroup": -3, "supplementalGroups": [1, -4]},
        {},
        [
            f".fsGroup: Invalid value: -1: {IDS}",
            f".runAsUser: Invalid value: -2: {IDS}",
            f".runAsGroup: Invalid value: -3: {IDS}",
            f".supplementalGroups[1]: Invalid value: -4: {IDS}",
        ],
    ),
    (
        {"fsGroupChangePolicy": "", "supplementalGroupsPolicy": "Odd", "seLinuxChangePolicy": "MountOption"},
        {},
        [
            '.fsGroupChangePolicy: Unsupported value: "": supported values: "Always", "OnRootMismatch"',
            '.supplementalGroupsPolicy: Unsupported value: "Odd": supported values: "Merge", "Strict"',
            '.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
        ],
    ),
    (
        {},
        {"hostPID": True, "shareProcessNamespace": True},
        [".shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"],
    ),
    ({"sysctls": [{"name": "net/ipv4.tcp"}, {"name": "kernel.msgmax"}]}, {}, []),
    (
        {"sysctls": [{}, {"name": "a" * 254}, {"name": "a"}, {"name": "a"}]},
        {},
        [
            ".sysctls[0].name: Required value",
            f'.sysctls[1].name: Invalid value: "{"a" * 254}": must have at most 253 characters and match regex '
            r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            '.sysctls[3].name: Duplicate value: "a"',
        ],
    ),
    (
        {"sysctls": [{"name": "net.core.x"}, {"name": "net/core/x"}, {"name": "netx"}, {"name": "kernel.sem"}]},
        {"hostNetwork": True},
        [
            ".sysctls[0].name: Invalid value: \"net.core.x\": may not be specified when 'hostNetwork' is true",
            ".sysctls[1].name: Invalid value: \"net/core/x\": may not be specified when 'hostNetwork' is true",
        ],
    ),
    (
        {"sysctls": [{"name": "kernel.sem"}, {"name": "fs.mqueue.x"}, {"name": "kernel.x"}]},
        {"hostIPC": True},
        [
            ".sysctls[0].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true",
            ".sysctls[1].name: Invalid value: \"fs.mqueue.x\": may not be specified when 'hostIPC' is true",
        ],
    ),
]

USER_NAMES = [
    ("", "runAsUserName cannot be an empty string"),
    ("a\x01b", "runAsUserName cannot contain control characters"),
    ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
    (f"{'a.' * 128}a\\u", "runAsUserName's Domain length must be under 256 characters"),
    (".a\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
    ("d\\", "runAsUserName's User cannot be empty"),
    ("u" * 105, "runAsUserName's User length must not be longer than 104 characters"),
    (". .", "runAsUserName's User cannot contain only periods or spaces"),
    ("a@b", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
]


@pytest.mark.parametrize(("context", "expected"), CONTAINER)
def test_containers(context: dict[str, Any], expected: list[str]) -> None:
    assert container_errors({"securityContext": context}) == [f"securityContext{error}" for error in expected]


def test_privileged_containers_where_the_cluster_allows_them() -> None:
    assert container_errors({"securityContext": {"privileged": True}}, options=PRIVILEGED_ALLOWED) == []
    contradiction = {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}}
    (found,) = container_errors(contradiction, options=PRIVILEGED_ALLOWED)
    assert found.endswith(": cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/", "mountPropagation": "Bidirectional"}]}
    volumes = {"volumes": [{"name": "v", "emptyDir": {}}]}
    assert container_errors({**mount, "securityContext": {"privileged": True}}, volumes, PRIVILEGED_ALLOWED) == []


@pytest.mark.parametrize(("context", "spec", "expected"), POD)
def test_pods(context: dict[str, Any], spec: dict[str, Any], expected: list[str]) -> None:
    found = pod_errors({"securityContext": context, **spec})
    assert found == [f"spec.securityContext{error}" for error in expected]


def test_user_namespaces() -> None:
    alone = {"hostUsers": False, "containers": [{"securityContext": {"procMount": "Unmasked"}}]}
    assert pod_errors(alone) == []
    assert pod_errors({"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True}) == [
        f"spec.{name}: Forbidden: when `hostUsers` is false" for name in ("hostNetwork", "HostPID", "HostIPC")
    ]


def test_what_an_old_pod_had_may_stay() -> None:
    old = ValidationOptions(
        resource_is_pod=True,
        allow_namespaced_sysctls_for_host_net_and_host_ipc=True,
        allow_user_namespaces_host_network_support=True,
        allow_user_namespaces_with_volume_devices=True,
        allow_only_recursive_selinux_change_policy=False,
    )
    context = {"sysctls": [{"name": "net.x"}], "seLinuxChangePolicy": "MountOption"}
    spec = {"hostNetwork": True, "hostUsers": False, "securityContext": context}
    assert pod_errors(spec, options=old) == []
    assert pod_errors({"securityContext": {"seLinuxChangePolicy": "Odd"}}, options=old) == [
        'spec.securityContext.seLinuxChangePolicy: Unsupported value: "Odd": '
        'supported values: "MountOption", "Recursive"'
    ]


@pytest.mark.parametrize(("name", "message"), USER_NAMES)
def test_windows_user_names(name: str, message: str) -> None:
    (found,) = pod_errors({"securityContext": {"windowsOptions": {"runAsUserName": name}}})
    assert found.startswith("spec.securityContext.windowsOptions.runAsUserName: Invalid value: ")
    assert found.endswith(f": {message}")


@pytest.mark.parametrize("name", ["u", "DOMAIN\\u", "a.b-c.d\\user name", "some domain\\u"])
def test_good_windows_user_names(name: str) -> None:
    assert pod_errors({"securityContext": {"windowsOptions": {"runAsUserName": name}}}) == []


def test_windows_credentials() -> None:
    at = "spec.securityContext.windowsOptions"
    options = {"gmsaCredentialSpecName": "<", "gmsaCredentialSpec": ""}
    assert pod_errors({"securityContext": {"windowsOptions": options}}) == [
        f'{at}.gmsaCredentialSpecName: Invalid value: "\\u003c": {NOT_A_SUBDOMAIN}',
        f'{at}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string',
    ]
    (found,) = pod_errors({"securityContext": {"windowsOptions": {"gmsaCredentialSpec": "x" * 65537}}})
    assert found.endswith(": gmsaCredentialSpec size must be under 64 KiB")


def test_host_process_containers() -> None:
    pod = {"windowsOptions": {"hostProcess": True}}
    no = {"securityContext": {"windowsOptions": {"hostProcess": False}}}
    assert pod_errors({"securityContext": pod, "containers": [{}, no]}) == [
        "spec.containers[1].securityContext.windowsOptions.hostProcess: Invalid value: false: "
        "pod hostProcess value must be identical if both are specified, was true",
        'spec: Invalid value: "": '
        "If pod contains any hostProcess containers then all containers must be HostProcess containers",
        "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
        "spec: Forbidden: hostProcess containers are disallowed by cluster policy",
    ]
    assert pod_errors({"securityContext": pod, "hostNetwork": True}, options=PRIVILEGED_ALLOWED) == []
    assert pod_errors({"containers": [no]}) == []


def test_operating_systems() -> None:
    assert pod_errors({"os": {}}) == ["spec.os.name: Required value"]
    assert pod_errors({"os": {"name": "plan9"}}) == [
        'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'
    ]
    windows: dict[str, Any] = {"windowsOptions": {}}
    assert pod_errors(
        {"os": {"name": "linux"}, "securityContext": windows, "containers": [{}, {"securityContext": windows}]}
    ) == [
        f"spec.securityContext.windowsOptions: {ON_LINUX}",
        f"spec.containers[1].securityContext.windowsOptions: {ON_LINUX}",
    ]


def test_windows_pods() -> None:
    unconfined = {"type": "Unconfined"}
    context = {
        "appArmorProfile": unconfined,
        "seLinuxOptions": {},
        "seccompProfile": unconfined,
        "fsGroup": 0,
        "fsGroupChangePolicy": "Always",
        "sysctls": [{"name": "x"}],
        "runAsUser": 0,
        "runAsGroup": 0,
        "supplementalGroups": [0],
        "supplementalGroupsPolicy": "Merge",
        "seLinuxChangePolicy": "Recursive",
    }
    own = {
        "appArmorProfile": unconfined,
        "seLinuxOptions": {},
        "seccompProfile": unconfined,
        "capabilities": {},
        "readOnlyRootFilesystem": False,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "procMount": "Default",
        "runAsUser": 0,
        "runAsGroup": 0,
    }
    spec = {
        "os": {"name": "windows"},
        "securityContext": context,
        "hostUsers": True,
        "hostPID": True,
        "hostIPC": True,
        "shareProcessNamespace": False,
        "containers": [{"securityContext": own}],
    }
    pod_fields = (
        "securityContext.appArmorProfile securityContext.seLinuxOptions hostUsers hostPID hostIPC "
        "securityContext.seccompProfile securityContext.fsGroup securityContext.fsGroupChangePolicy "
        "securityContext.sysctls shareProcessNamespace securityContext.runAsUser securityContext.runAsGroup "
        "securityContext.supplementalGroups securityContext.supplementalGroupsPolicy "
        "securityContext.seLinuxChangePolicy"
    )
    assert pod_errors(spec) == [
        *(f"spec.{name}: {ON_WINDOWS}" for name in pod_fields.split()),
        *(f"spec.containers[0].securityContext.{name}: {ON_WINDOWS}" for name in own),
    ]
    assert pod_errors({"os": {"name": "windows"}, "securityContext": {"windowsOptions": {}}, "hostNetwork": True}) == []
