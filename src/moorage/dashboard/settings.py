"""What a dashboard is told: which cluster or files, where to listen, and whether it may change anything."""

import msgspec


class DashboardSettings(msgspec.Struct, frozen=True):
    """The options of `moorage dashboard`. Without `kubeconfig` it shows `files`."""

    kubeconfig: str | None = None
    context: str = ""
    files: tuple[str, ...] = ()
    stdin: str = ""  # what the file `-` holds
    feature_gates: dict[str, bool] = {}
    configuration: str | None = None  # the text of a KubeSchedulerConfiguration
    configuration_name: str = "configuration"
    seed: int = 0
    namespace: str = ""
    endpoints: tuple[str, ...] = ()  # where components other than the API server serve metrics
    bind_address: str = "127.0.0.1"
    port: int = 0
    host_names: tuple[str, ...] = ()  # by which browsers may call it, besides its addresses
    allow_changes: bool = False
