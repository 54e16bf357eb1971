"""No secret of a gateway leaves its volume in what is saved of it."""

import base64
from dataclasses import replace

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openshell_bootstrap.errors import (
    EngineUnavailableError,
)
from tests.fakes import kube_objects as objects
from tests.unit.gateway.archives import archive, bundle_of
from tests.unit.gateway.scenes import NAME

TOKEN = "t0ken/of-the+cluster"


PASSWORD = "0badc0de" * 4


REGISTRY = "reg1stry pass"


VARIABLE = "v4riable-value"


PLAIN = "pla1n-value-of-a-user"


PSK = "feed8eef" * 6


AES = base64.b64encode(b"k" * 32).decode()


KEY_LINE = "bJCtMH0MGaWRJS3ubM/TlzvpNH7V9I9JFg=="
"""The last line of a key in PEM, which looks like nothing."""


CREDENTIAL = "cr3dential-of-another-user"


SECRETS = (CREDENTIAL, KEY_LINE, TOKEN, PASSWORD, REGISTRY, VARIABLE, PSK, AES)


def start_with_secrets(world):
    """A gateway whose secrets are wherever they can be, and told wherever something is told."""
    registries = f"configs:\n  r.example:\n    auth:\n      password: '{REGISTRY}'\n".encode()
    world.start(
        token=TOKEN.encode(),
        registries=registries,
        environment={"MY_SECRET": VARIABLE, "PLAIN": PLAIN},
    )
    disk = world.engine.volume_files(NAME)
    disk.write("/openshell/node/password", f"{PASSWORD}\n".encode())
    disk.write("/server/cred/passwd", f"{CREDENTIAL},node,node,k3s:agent\n".encode())
    key = f"-----BEGIN EC PRIVATE KEY-----\n{KEY_LINE}\n-----END EC PRIVATE KEY-----\n"
    disk.write("/server/tls/client-admin.key", key.encode())
    disk.write("/server/cred/ipsec.psk", PSK.encode())
    disk.write("/server/cred/encryption-config.json", f'{{"secret":"{AES}"}}'.encode())
    everything = "\n".join(
        [*SECRETS, *(base64.b64encode(secret.encode()).decode() for secret in SECRETS)]
    )
    world.engine.write_log(NAME, *everything.encode().splitlines(), b"a plain line")
    world.nodes.system = f"==> ps <==\n{everything}\n".encode()
    world.nodes.containerd_log = everything.encode()
    ill = objects.pod("ill", "openshell-t1")
    ill["status"] = {"phase": "Pending", "message": everything}
    ill["spec"] |= {"containers": [{"name": "c", "image": "i", "env": [{"value": PLAIN}]}]}
    event = {
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "message": everything,
        "type": "Warning",
    }
    world.kube.add(ill, event)
    box = world.engine.box(NAME)
    box.health = replace(box.health, output=everything)
    return everything


def test_no_secret_of_the_gateway_is_in_the_file_wherever_it_was_told(world):
    start_with_secrets(world)
    found = archive(bundle_of(world).path)
    text = "\n".join(found.values())
    for secret in (*SECRETS, PLAIN):
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=")[:-1] not in text
    assert "registries.yaml" not in "".join(found)
    assert "a plain line" in found["node/log.txt"]
    assert msgspec.json.decode(found["summary.json"])["unread"] == {}


def test_why_something_was_not_read_tells_no_secret_either(world):
    start_with_secrets(world)
    world.engine.fail("containers.logs", EngineUnavailableError("500", details=f"not {TOKEN}"))
    result = bundle_of(world)
    assert result.unread == ("node/log.txt: 500: not ***",)
    assert TOKEN not in archive(result.path)["summary.json"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(data=st.data())
def test_no_call_that_fails_lets_a_secret_through(world, data):
    """Where the volume's own secrets cannot be read, all that could be one goes."""
    if NAME not in world.nodes.clusters:
        start_with_secrets(world)
    methods = ["containers.get_file", "containers.get_files", "containers.list", "containers.exec"]
    methods += ["containers.using_volume", "containers.find", "containers.logs", "info"]
    chosen = data.draw(st.lists(st.tuples(st.sampled_from(methods), st.integers(0, 6)), max_size=3))
    for method, after in chosen:
        error = EngineUnavailableError("500", details=f"it said {TOKEN}")
        world.engine.fail(method, error, after=after, times=1)
    text = "\n".join(archive(bundle_of(world).path).values())
    world.engine.heal()
    assert PASSWORD not in text
    assert PSK not in text
    assert PLAIN not in text
