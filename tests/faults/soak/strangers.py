"""Containers, networks and volumes that are nobody's gateway, with names like a gateway's."""

import json
import secrets

from tests.integration.gateway.driver import Gateway
from tests.until import until


class Strangers:
    """A container that always runs, with a network and volumes that it holds.

    So that no prune may take them: whatever is missing afterwards was taken by the product.
    """

    def __init__(self, gateway: Gateway, image: str) -> None:
        self.docker = gateway.command.docker
        self.name = f"{gateway.container}x"
        scratch = f"openshell-scratch-{gateway.name}x-0-kubelet"
        label = f"openshell.ai/gateway={gateway.name}x"
        self.secret = secrets.token_hex(8)
        self.docker("network", "create", "--label", label, self.name)
        for volume, role in ((self.name, "data"), (scratch, "scratch")):
            roles = ["--label", label, "--label", f"openshell.ai/role={role}"]
            self.docker("volume", "create", *roles, volume)
        mounts = ["--volume", f"{self.name}:/data", "--volume", f"{scratch}:/scratch"]
        mine = ["--name", self.name, "--network", self.name, "--label", label, *mounts]
        always = ["--detach", "--restart=always", "--stop-timeout=1"]
        script = f"test -e /data/file || echo {self.secret} >/data/file; exec sleep 1000000"
        self.docker("run", *always, *mine, image, "sh", "-c", script)
        self.first = self._look()

    def check(self) -> None:
        """They are who they were, and their file is whole."""
        until(lambda: self._look() == self.first, "the foreign container as it was", 30)

    def _look(self) -> list[str]:
        (container,) = json.loads(self.docker("container", "inspect", self.name))
        (network,) = json.loads(self.docker("network", "inspect", self.name))
        volumes = [one["Name"] for one in container["Mounts"]]
        made = json.loads(self.docker("volume", "inspect", *sorted(volumes)))
        assert container["State"]["Running"], container["State"]
        file = self.docker("exec", self.name, "cat", "/data/file")
        assert file == self.secret, file
        # Not CreatedAt: that is the time of the volume's folder, which dockerd itself touches.
        return [container["Id"], network["Id"], *(one["Mountpoint"] for one in made)]
