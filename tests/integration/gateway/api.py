"""The Kubernetes API at the port that the gateway publishes: for many calls at once."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.integration.gateway.driver import Gateway

CREATED = 201
CALL_S = 30


class Api:
    """What the gateway's own kubeconfig reaches."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        config = yaml.safe_load(gateway.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        files = {
            "authority": cluster["certificate-authority-data"],
            "certificate": user["client-certificate-data"],
            "key": user["client-key-data"],
        }
        for name, content in files.items():
            (folder / name).write_bytes(base64.b64decode(content))
        self.context = ssl.create_default_context(cafile=folder / "authority")
        self.context.load_cert_chain(folder / "certificate", folder / "key")

    def create(self, stateful_set: dict[str, Any]) -> int:
        """The status of the answer."""
        request = urllib.request.Request(
            f"{self.server}/apis/apps/v1/namespaces/default/statefulsets",
            data=json.dumps(stateful_set).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=CALL_S, context=self.context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
