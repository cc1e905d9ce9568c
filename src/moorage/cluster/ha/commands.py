"""Write the command lines of the processes of a cluster: etcd members, API servers, components."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from moorage.client.leader_election import ElectionTimes
from moorage.cluster.control_plane import Settings, admission_needs
from moorage.cluster.ha.certificates import CLIENT
from moorage.cluster.ha.layout import COMPONENTS, ETCD, HaSettings, Members
from moorage.control.registry import Row, chosen
from moorage.model.gates import GATES, Component, GateSet, default_gates

_MOORAGE = (sys.executable, "-P", "-m", "moorage")
_OWN_SETTINGS = "MOORAGE_"


def child_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment without settings of `moorage`: children are told everything by options."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_OWN_SETTINGS)}
    return {**kept, "MOORAGE_NO_SETTINGS": "1"}


class Commands:
    """Command lines of one cluster, in its directory."""

    def __init__(self, settings: Settings, ha: HaSettings, members: Members, directory: Path, etcd: str) -> None:
        self._settings, self._ha, self._members = settings, ha, members
        self._directory, self._etcd = directory, etcd
        self._pki = directory / "pki"

    @property
    def controllers(self) -> tuple[Row, ...]:
        return chosen(self._settings.controllers, simulated=self._settings.simulates)

    def etcd(self, number: int) -> list[str]:
        members = self._members
        client, peer = (f"https://127.0.0.1:{ports[number - 1]}" for ports in (members.clients, members.peers))
        everyone = ",".join(f"etcd-{i}=https://127.0.0.1:{port}" for i, port in enumerate(members.peers, 1))
        pki, name = self._pki / ETCD, f"member-{number}"
        files = {"trusted-ca-file": "ca.crt", "cert-file": f"{name}.crt", "key-file": f"{name}.key"}
        flags = {
            "name": f"etcd-{number}",
            "data-dir": str(self._directory / ETCD / name),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": everyone,
            "initial-cluster-token": members.token,
            "client-cert-auth": "true",
            "peer-client-cert-auth": "true",
            **{option: str(pki / file) for option, file in files.items()},
            **{f"peer-{option}": str(pki / file) for option, file in files.items()},
            "snapshot-count": "10000",
            "quota-backend-bytes": str(8 * 1024**3),
            "log-level": "warn",
        }
        if self._settings.data_dir is None:
            flags["unsafe-no-fsync"] = "true"  # nothing is kept when the machine goes down
        return [self._etcd, *(f"--{option}={value}" for option, value in flags.items())]

    def api_server(self, name: str, port: int, advertised: str) -> list[str]:
        settings, pki = self._settings, self._pki
        command = [*_MOORAGE, "apiserver", "--ephemeral", "--cert-dir", str(pki), "--force"]
        command += ["--write-kubeconfig", str(self._directory / COMPONENTS / f"{name}.kubeconfig")]
        command += ["--etcd-servers", ",".join(self._members.urls), "--etcd-cafile", str(pki / ETCD / "ca.crt")]
        command += ["--etcd-certfile", str(pki / ETCD / f"{CLIENT}.crt")]
        command += ["--etcd-keyfile", str(pki / ETCD / f"{CLIENT}.key")]
        command += ["--bind-address", settings.bind_address, "--port", str(port)]
        command += ["--advertise-address", advertised] if advertised else []
        command += ["--authorization-mode", settings.authorization_mode]
        if settings.policy_file is not None:
            command += ["--authorization-policy-file", str(settings.policy_file)]
        for service in settings.webhook_services:
            command += ["--webhook-service", service]
        if settings.audit_log_path:
            command += ["--audit-log-path", settings.audit_log_path]
        needs = admission_needs(settings)
        command.append(f"--enable-garbage-collector={str(needs.collects_garbage).lower()}")
        if needs.plugins:
            command += ["--enable-admission-plugins", ",".join(sorted(needs.plugins))]
        return command + self._gates(Component.API_SERVER)

    def scheduler(self) -> list[str]:
        command = [*self._component("scheduler"), *self._election(self._ha.election)]
        if self._ha.scheduler_config:
            command += ["--config", str(self._directory / COMPONENTS / "scheduler.yaml")]
        return command + self._gates(Component.SCHEDULER)

    def controller_manager(self) -> list[str]:
        settings, pki = self._settings, self._pki
        command = [*self._component("controller-manager"), *self._election(self._ha.election)]
        command += ["--controllers", ",".join(row.name for row in self.controllers)]
        command.append("--simulate-storage" if settings.simulates_storage else "--no-simulate-storage")
        command += ["--cluster-signing-cert-file", str(pki / "ca.crt")]
        command += ["--cluster-signing-key-file", str(pki / "ca.key")]
        command += ["--service-account-private-key-file", str(pki / "sa.key")]
        return command + self._gates(Component.CONTROLLER_MANAGER)

    def kubelet(self, nodes: int) -> list[str]:
        command = [*self._component("kubelet"), "--nodes", str(nodes), "--all-nodes"]
        for place, value in enumerate(self._ha.devices):
            file = self._directory / COMPONENTS / f"devices-{place}.yaml"
            command += ["--devices", str(file) if value in self._ha.device_files else value]
        return command + self._gates(Component.KUBELET)

    def _component(self, name: str) -> list[str]:
        kubeconfig = self._directory / COMPONENTS / f"{name}.kubeconfig"
        return [*_MOORAGE, name, "--kubeconfig", str(kubeconfig), "--metrics-port", "0"]

    def _election(self, times: ElectionTimes) -> list[str]:
        durations = {"lease-duration": times.lease, "renew-deadline": times.deadline, "retry-period": times.retry}
        return [word for name, value in durations.items() for word in (f"--leader-elect-{name}", f"{value:g}s")]

    def _gates(self, component: Component) -> list[str]:
        text = gates_text(self._settings.gates[component])
        return ["--feature-gates", text] if text else []


def gates_text(gates: GateSet) -> str:
    """Return --feature-gates for gates that are not as by default."""
    usual = default_gates()
    changed = [gate for gate in GATES if gates.enabled(gate) != usual.enabled(gate)]
    return ",".join(f"{gate.name}={str(gates.enabled(gate)).lower()}" for gate in changed)
