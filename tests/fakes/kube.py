"""A node with a cluster in memory: understands the commands that the product runs, word for word.

It keeps the API server's rules where the product leans on them: uid and resourceVersion as
preconditions, objects with finalizers that only begin to go, a volume's source that never
changes and an affinity that changes only with the feature gate. Messages are kubectl's own. The
contract suite runs the same tests on it and on a real node, so it cannot drift.
"""

import copy
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from openshell_bootstrap.cluster.kubectl import (
    AWAIT_KUBELET_SCRIPT,
    DELETE_SCRIPT,
    REQUEST_TIMEOUT,
    SINCE_START_SCRIPT,
)
from openshell_bootstrap.cluster.nodes import LEASE_NAMESPACE
from openshell_bootstrap.cluster.pod_dns import POD_DNS_SCRIPT
from openshell_bootstrap.cluster.usage import USAGE_SCRIPT
from openshell_bootstrap.cluster.volumes import FOLDERS_SCRIPT
from openshell_bootstrap.models import Completed
from tests.fakes.clock import FakeClock
from tests.fakes.kube_errors import StatusError
from tests.fakes.kube_objects import KINDS, PLURALS, Manifest, lease, rfc3339

REFUSED = (
    "The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or "
    "port?\n"
)

Key = tuple[str, str, str]
"""Kind, namespace, name."""

Answer = tuple[int, str, str]
"""Exit status, stdout, stderr."""


def _json(manifest: Manifest) -> str:
    return msgspec.json.encode(manifest).decode()


@dataclass(slots=True)
class FakeKube:
    """One node; satisfies ``NodeExec``.

    Attributes:
        clock: Leases of nodes in ``alive`` are renewed by it.
        started_s: What ``/run/openshell/k3s-started`` says; None: there is no such file.
        refusal: What ``/run/openshell/refused`` says; empty: there is no such file.
        objects: Everything the API server holds; may be changed freely.
        folders: Real places of the node's folders, by path.
        used_kib: What the files of the node's folders take, by path.
        pod_dns: How the pods' name server answers, as the probe tells it.
        has_gate: The API server lets a volume's affinity be changed.
        is_up: The API server answers.
        alive: Names of nodes whose kubelet renews their lease.
        runs: Every command, in order.
        refuses_deletion: Names of objects that an admission webhook will not let go.
        before: Called before the n-th command (from 0) with this node; may raise.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    started_s: int | None = None
    refusal: str = ""
    objects: dict[Key, Manifest] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    used_kib: dict[str, int] = field(default_factory=dict)
    pod_dns: str = "cluster answered\noutside answered\n"
    has_gate: bool = True
    is_up: bool = True
    alive: set[str] = field(default_factory=set)
    refuses_deletion: set[str] = field(default_factory=set)
    runs: list[tuple[str, ...]] = field(default_factory=list)
    before: dict[int, Callable[["FakeKube"], None]] = field(default_factory=dict)
    version: int = 100

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        number = len(self.runs)
        self.runs.append(tuple(argv))
        if number in self.before:
            self.before[number](self)
        status, stdout, stderr = self._dispatch(tuple(argv), stdin.decode())
        return Completed(tuple(argv), status, stdout.encode(), stderr.encode())

    def add(self, *manifests: Manifest) -> None:
        """Put objects in, as they are given."""
        for manifest in manifests:
            self._create(manifest)

    def find(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """An object as it is stored."""
        return self.objects.get((kind, namespace, name))

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest:
        """An object that must be there."""
        return self.objects[kind, namespace, name]

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind."""
        return sorted(name for each, _, name in self.objects if each == kind)

    def touch(self, kind: str, name: str, namespace: str = "") -> None:
        """Another version of an object, as if somebody had changed it."""
        self._bump(self.get(kind, name, namespace))

    def _dispatch(self, argv: tuple[str, ...], stdin: str) -> Answer:
        match argv:
            case ("sh" | "mkdir" | "ln", *_):
                return self._run_shell(argv, stdin)
            case ("kubectl", "get", timeout, "--raw", path) if timeout == REQUEST_TIMEOUT:
                return self._get_raw(path)
            case ("kubectl", "get", *arguments):
                return self._get(arguments)
            case ("kubectl", "create", "-f", "-"):
                self.add(*msgspec.json.decode(stdin)["items"])
                return 0, "", ""
            case ("kubectl", "replace", timeout, "-f", "-", "-o", "name"):
                assert timeout == REQUEST_TIMEOUT
                return self._replace_all(stdin)
            case _:
                raise AssertionError(f"the node does not know this command: {argv}")

    def _run_shell(self, argv: tuple[str, ...], stdin: str) -> Answer:  # noqa: C901, PLR0911 - one line per command
        match argv:
            case ("sh", "-c", script, "sh", *arguments) if script == SINCE_START_SCRIPT:
                if self.started_s is None:
                    return 0, f"\n{self.refusal}", ""
                status, stdout, stderr = self._get(arguments)
                return status, f"{self.started_s}\n{stdout}", stderr
            case ("sh", "-c", script) if script == AWAIT_KUBELET_SCRIPT:
                return 0, "", ""
            case ("sh", "-c", script) if script == DELETE_SCRIPT:
                return self._delete_all(stdin)
            case ("sh", "-c", script) if script == FOLDERS_SCRIPT:
                return 0, "".join(f"{self.folders.get(p, '')}\n" for p in stdin.splitlines()), ""
            case ("sh", "-c", script, "sh", _seconds) if script == USAGE_SCRIPT:
                known = (self.used_kib.get(path, "") for path in stdin.splitlines())
                return 0, "".join(f"{used}\n" for used in known), ""
            case ("sh", "-c", script, "sh", _seconds, _name) if script == POD_DNS_SCRIPT:
                return 0, self.pod_dns, ""
            case ("mkdir", "-p", *paths):
                self.folders.update({path: path for path in paths})
                return 0, "", ""
            case ("ln", "-s", target, path):
                self.folders[path] = target
                return 0, "", ""
            case _:
                raise AssertionError(f"the node does not know this command: {argv}")

    def _get(self, arguments: Sequence[str]) -> Answer:
        kinds, *scope = arguments
        namespace = scope[1] if scope[0] == "-n" else None
        assert scope[-3:] == ["-o", "json", REQUEST_TIMEOUT]
        if not self.is_up:
            return 1, "", REFUSED
        for word in kinds.split(","):
            if word not in KINDS:
                return 1, "", f'error: the server doesn\'t have a resource type "{word}"\n'
        self._renew()
        items = [
            self.objects[key]
            for word in kinds.split(",")
            for key in sorted(self.objects)
            if key[0] == KINDS[word] and (namespace in (None, key[1]) or not key[1])
        ]
        listed = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}}
        return 0, msgspec.json.format(msgspec.json.encode(listed), indent=4).decode() + "\n", ""

    def _get_raw(self, path: str) -> Answer:
        if not self.is_up:
            return 1, "", REFUSED
        match path.split("/"):
            case ["", "readyz"]:
                return 0, "ok", ""
            case ["", "api", "v1", query] if query.startswith("events?"):
                reason = query.removeprefix("events?fieldSelector=reason%3D")
                events = [one for key, one in self.objects.items() if key[0] == "Event"]
                found = [one for one in events if one["reason"] == reason]
                return 0, _json({"kind": "EventList", "items": found}), ""
            case ["", "api", "v1", "namespaces", namespace, "secrets", name]:
                secret = self.find("Secret", name, namespace)
                if secret is None:
                    return 1, "", StatusError("NotFound", f'secrets "{name}" not found').tell()
                return 0, _json(secret), ""
            case _:
                text = "the server could not find the requested resource"
                return 1, "", StatusError("NotFound", text).tell()

    def _renew(self) -> None:
        for name in self.alive:
            renewed = lease(name, self.clock.now)
            key = ("Lease", LEASE_NAMESPACE, name)
            self.objects.setdefault(key, renewed)["spec"] = renewed["spec"]

    def _create(self, manifest: Manifest) -> None:
        made = copy.deepcopy(manifest)
        meta = made["metadata"]
        key = (made["kind"], meta.get("namespace", ""), meta["name"])
        assert key not in self.objects, f"{key} is there already"
        meta["uid"] = meta.get("uid") or str(uuid.uuid4())
        meta["creationTimestamp"] = rfc3339(self.clock.now)
        self._bump(made)
        self.objects[key] = made
        if key[0] == "PersistentVolumeClaim":
            volume = self.objects.get(("PersistentVolume", "", made["spec"]["volumeName"]))
            if volume and "claimRef" in volume["spec"]:
                volume["spec"]["claimRef"]["uid"] = meta["uid"]

    def _bump(self, stored: Manifest) -> None:
        self.version += 1
        stored["metadata"]["resourceVersion"] = str(self.version)

    def _replace_all(self, stdin: str) -> Answer:
        if not self.is_up:
            return 1, "", REFUSED
        done, errors = [], []
        try:
            items = msgspec.json.decode(stdin)["items"]
        except msgspec.DecodeError:  # its sender was killed
            return 1, "", "error: error parsing STDIN: unexpected EOF\n"
        for item in items:
            try:
                self._replace(item)
            except StatusError as error:
                errors.append(error)
            else:
                done.append(f"{item['kind'].lower()}/{item['metadata']['name']}\n")
        told = [
            error.tell(source='error when replacing "STDIN": ', alone=len(errors) == 1)
            for error in errors
        ]
        return int(bool(errors)), "".join(done), "".join(told)

    def _replace(self, item: Manifest) -> None:
        meta = item["metadata"]
        name = meta["name"]
        key = (item["kind"], meta.get("namespace", ""), name)
        plural = PLURALS[item["kind"]]
        stored = self.objects.get(key)
        if stored is None:
            raise StatusError("NotFound", f'{plural} "{name}" not found')
        self._check(stored, meta["uid"], meta["resourceVersion"], f'{plural} "{name}"')
        for part in ("local", "hostPath"):
            if item["spec"].get(part) != stored["spec"].get(part):
                text = "spec.persistentvolumesource: Forbidden: immutable after creation"
                raise StatusError("Invalid", text, about=(item["kind"], name))
        wanted, held = item["spec"].get("nodeAffinity"), stored["spec"].get("nodeAffinity")
        if held and wanted != held and not self.has_gate:
            text = (
                f"nodeAffinity: Invalid value: {msgspec.json.encode(wanted).decode()}: field is "
                "immutable, except for updating from beta label to GA"
            )
            raise StatusError("Invalid", text, about=(item["kind"], name))
        self.objects[key] = copy.deepcopy(item)
        if item != stored:
            self._bump(self.objects[key])
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            del self.objects[key]

    @staticmethod
    def _check(stored: Manifest, uid: str, version: str, what: str) -> None:
        meta = stored["metadata"]
        wrong = ""
        if uid != meta["uid"]:
            wrong = f"UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        elif version and version != meta["resourceVersion"]:
            wrong = (
                f"ResourceVersion in precondition: {version}, ResourceVersion in object meta: "
                f"{meta['resourceVersion']}"
            )
        if wrong:
            raise StatusError(
                "Conflict", f"Operation cannot be fulfilled on {what}: Precondition failed: {wrong}"
            )

    def _delete_all(self, stdin: str) -> Answer:
        whole, _, _ = stdin.rpartition("\n")  # read(1) fails on a line without an end
        lines = whole.split("\n") if whole else []
        told = ""
        for rule, url, options in zip(lines[::3], lines[1::3], lines[2::3], strict=False):
            error = self._delete(url, msgspec.json.decode(options))
            if not error:
                told += f"0 {url}\n"
                continue
            told += f"1 {url} {error.strip()}\n"
            if rule == "required" and "(NotFound)" not in error:
                break
        return 0, told, ""

    def _delete(self, url: str, options: Manifest) -> str:
        """Delete one object; what kubectl prints if it could not."""
        if not self.is_up:
            return REFUSED
        assert options["kind"] == "DeleteOptions"
        match url.split("/"):
            case ["", "api", "v1", "nodes", name]:
                key = ("Node", "", name)
            case ["", "api", "v1", "namespaces", namespace, "pods", name]:
                key = ("Pod", namespace, name)
            case ["", "api", "v1", "namespaces", "kube-system", "secrets", name] if name.endswith(
                ".node-password.k3s"
            ):
                key = ("Secret", "kube-system", name)
            case _:
                raise AssertionError(
                    f"nothing but nodes, pods and node passwords is ever deleted: {url}"
                )
        what = f'{PLURALS[key[0]]} "{name}"'
        stored = self.objects.get(key)
        if stored is None:
            return StatusError("NotFound", f"{what} not found").tell()
        if name in self.refuses_deletion:
            text = f'admission webhook "guard.example.com" denied the request: {what} stays'
            return StatusError("Forbidden", text).tell()
        wanted = options["preconditions"]
        try:
            self._check(stored, wanted["uid"], wanted.get("resourceVersion", ""), what)
        except StatusError as error:
            return error.tell()
        self._let_go(key, stored, options.get("gracePeriodSeconds"))
        return ""

    def _let_go(self, key: Key, stored: Manifest, grace_s: int | None) -> None:
        waits = key[0] == "Pod" and grace_s != 0
        if stored["metadata"].get("finalizers") or waits:
            stored["metadata"]["deletionTimestamp"] = rfc3339(self.clock.now)
            self._bump(stored)
            return
        del self.objects[key]
        if key[0] == "Node":
            self.objects.pop(("Lease", LEASE_NAMESPACE, key[2]), None)
