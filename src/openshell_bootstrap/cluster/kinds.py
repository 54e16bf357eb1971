"""The kinds of Kubernetes objects that are asked for, as the API server's paths name them."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Kind:
    """One version of one kind.

    Attributes:
        group: API group; empty for the core group.
        version: Of the group, such as ``v1``.
        plural: As paths have it.
        name: As an object's ``kind`` has it.
        is_namespaced: Its objects live in namespaces.
    """

    group: str
    version: str
    plural: str
    name: str
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As an object's ``apiVersion`` has it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection or, with a name, of an object."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where = ["namespaces", namespace] if self.is_namespaced and namespace else []
        parts = [*where, self.plural, *([name] if name else []), *([subresource] if name else [])]
        return "/".join([root, *(quote(part, safe="") for part in parts if part)])


POD = Kind("", "v1", "pods", "Pod")
SECRET = Kind("", "v1", "secrets", "Secret")
CLAIM = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUME = Kind("", "v1", "persistentvolumes", "PersistentVolume", is_namespaced=False)
EVENT = Kind("", "v1", "events", "Event")
NODE = Kind("", "v1", "nodes", "Node", is_namespaced=False)
NAMESPACE = Kind("", "v1", "namespaces", "Namespace", is_namespaced=False)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", is_namespaced=False)
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment")
SANDBOX = Kind("agents.x-k8s.io", "v1beta1", "sandboxes", "Sandbox")
OLD_SANDBOX = Kind("agents.x-k8s.io", "v1alpha1", "sandboxes", "Sandbox")
