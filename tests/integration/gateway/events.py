"""What happened to a gateway's Docker objects, as the engine tells it."""

import json
import time

from tests.integration.gateway.driver import Gateway, docker

LOOKS = {
    "exec_create",
    "exec_start",
    "exec_die",
    "health_status",
    "archive-path",
    "mount",
    "unmount",
}
"""Events that a look makes, by running a command or reading a file; all others change something."""


def changes(gateway: Gateway, since: float) -> list[str]:
    """What happened to the gateway's own Docker objects, looks at them left out."""
    span = ("--since", f"{since:.6f}", "--until", f"{time.time():.6f}")
    events = [
        json.loads(line) for line in docker("events", *span, "--format", "{{json .}}").splitlines()
    ]
    return [
        f"{event['Type']} {event['Action']}"
        for event in events
        if gateway.name in json.dumps(event["Actor"])
        and event["Action"].partition(":")[0] not in LOOKS
    ]
