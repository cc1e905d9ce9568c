"""`moorage.Cluster`: `moorage up` inside the program that uses it."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self

from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.library.manifests import Gates, Paths, Texts, as_moorage_errors, gates_of, texts_of
from moorage.library.planning import read_config
from moorage.model.gates import Component
from moorage.run.devices.spec import DeviceSpecError, parse_devices
from moorage.serve.webhooks.services import BadAddress, read_webhook_service

_START_SECONDS, _STOP_SECONDS = 120.0, 60.0


class Cluster:
    """A cluster for kubectl and every other client: API server, scheduler, controllers, simulated nodes.

    `with Cluster() as cluster` runs it on an event loop in a thread of its own, `async with` on the running loop.
    `kubeconfig` and `url` are known inside the block. Nothing is kept unless `data_dir` is given. `load` are paths of
    manifests to apply at the start, `controllers` which controllers run, as `moorage up --controllers` has it,
    `devices` those of its nodes: `gpu.example.com=8`, or a YAML list, `webhook_services` where the webhooks of Services
    are: `{"system/hooks": "https://127.0.0.1:9443"}`. Raises MoorageError for arguments that cannot be read; entering
    raises it if the cluster cannot start.
    """

    def __init__(
        self,
        *,
        nodes: int = 3,
        gates: Gates | None = None,
        load: Paths = (),
        data_dir: str | Path | None = None,
        config: str | Path | None = None,
        controllers: Texts = ("*",),
        devices: str = "",
        webhook_services: Mapping[str, str] | None = None,
        bind_address: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        switched = gates_of(gates)
        services = tuple(f"{name}={url}" for name, url in (webhook_services or {}).items())
        with as_moorage_errors(DeviceSpecError, BadAddress):
            sets = parse_devices(devices)
            for service in services:
                read_webhook_service(service)
        self._settings = Settings(
            gates=dict.fromkeys(Component, switched),
            configuration=read_config(config, switched),
            nodes=nodes,
            simulates=True,
            data_dir=None if data_dir is None else Path(data_dir),
            bind_address=bind_address,
            port=port,
            kubeconfig=None,
            manifests=texts_of(load, "load"),
            controllers=texts_of(controllers, "controllers"),
            devices=sets,
            webhook_services=services,
        )
        self._plane: ControlPlane | None = None
        self._thread: _LoopThread | None = None

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, which exists as long as the cluster runs."""
        return self._running.kubeconfig_path

    @property
    def url(self) -> str:
        """Where the API server listens, such as `https://127.0.0.1:40123`."""
        return self._running.url

    @property
    def _running(self) -> ControlPlane:
        if self._plane is None:
            raise RuntimeError("the cluster runs only inside its with block")
        return self._plane

    def __enter__(self) -> Self:
        self._thread = _LoopThread()
        try:
            self._thread.call(self.__aenter__(), _START_SECONDS)
        except BaseException:
            self._thread.close()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        if self._thread is not None:
            try:
                self._thread.call(self.__aexit__(), _STOP_SECONDS)
            finally:
                self._thread.close()
                self._thread = None

    async def __aenter__(self) -> Self:
        plane = ControlPlane(self._settings)
        loop = asyncio.get_running_loop()
        handler = loop.get_exception_handler()  # the API server sets its own
        try:
            with as_moorage_errors(CannotStart):
                await plane.start()
        except BaseException:
            await plane.stop()
            raise
        finally:
            loop.set_exception_handler(handler)
        self._plane = plane
        return self

    async def __aexit__(self, *reason: object) -> None:
        plane, self._plane = self._plane, None
        if plane is not None:
            await plane.stop()


class _LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = _new_loop()()
        self._thread = threading.Thread(target=self._loop.run_forever, name="moorage-cluster", daemon=True)
        self._thread.start()

    def call(self, part: Coroutine[Any, Any, Any], seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(part, self._loop).result(seconds)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.new_event_loop
    return asyncio.new_event_loop
