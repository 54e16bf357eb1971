"""Files in memory: folders, regular files and symbolic links, seen through mounts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openshell_bootstrap.models import FileEntry

MAX_LINKS = 40
"""How many links a path may lead through, as Linux has it."""


@dataclass(frozen=True, slots=True)
class Node:
    """What is at a path: a folder, a file (``content``) or a symbolic link (``link``)."""

    mode: int
    content: bytes | None = None
    link: str | None = None

    @property
    def is_folder(self) -> bool:
        return self.content is None and self.link is None


@dataclass(slots=True)
class Tree:
    """One file system: a container's own, a volume's, a host folder's. Keys begin with ``/``."""

    nodes: dict[str, Node] = field(default_factory=lambda: {"/": Node(0o755)})

    def read(self, path: str) -> bytes | None:
        """A regular file's bytes; None if there is none."""
        node = self.nodes.get(path)
        return None if node is None else node.content

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file and the folders that it needs."""
        for parent in _parents(path):
            self.nodes.setdefault(parent, Node(0o755))
        self.nodes[path] = Node(mode, content)

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        self.write(path, b"")
        self.nodes[path] = Node(0o777, link=target)

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Make a folder; one that is there stays as it is."""
        for parent in _parents(path):
            self.nodes.setdefault(parent, Node(0o755))
        self.nodes.setdefault(path, Node(mode))

    def remove(self, path: str) -> None:
        """Remove a path and all below it."""
        self.nodes = {
            at: node for at, node in self.nodes.items() if at != path and not _below(at, path)
        }

    def paths(self) -> Sequence[str]:
        """The paths of all regular files."""
        return sorted(path for path, node in self.nodes.items() if node.content is not None)


@dataclass(frozen=True, slots=True)
class View:
    """Files as a container sees them: its own tree with others mounted over paths of it."""

    root: Tree
    mounts: Mapping[str, Tree]

    def put(self, file: FileEntry) -> None:
        """Write one entry; a folder that is there keeps its mode."""
        tree, path = self._place(self.resolve(file.path))
        if file.content is None:
            tree.folder(path, file.mode)
        else:
            tree.write(path, file.content, file.mode)

    def file(self, path: str) -> FileEntry | None:
        """A regular file, links followed."""
        node = self.node(self.resolve(path))
        if node is None or node.content is None:
            return None
        return FileEntry(path, node.content, node.mode)

    def folder(self, path: str) -> Sequence[FileEntry] | None:
        """A folder with all below it, under the path that was asked for."""
        base = self.resolve(path)
        node = self.node(base)
        if node is None or not node.is_folder:
            return None
        return [
            FileEntry(path + at.removeprefix(base.rstrip("/")), found.content, found.mode)
            for at, found in sorted(self._all())
            if found.link is None and (at == base or _below(at, base))
        ]

    def node(self, path: str) -> Node | None:
        """What is at a path that holds no links."""
        tree, inside = self._place(path)
        return tree.nodes.get(inside)

    def resolve(self, path: str) -> str:
        """The path with every link followed, whether or not something is there."""
        done, todo, links = "", _parts(path), 0
        while todo:
            part = todo.pop(0)
            here = done.rpartition("/")[0] if part == ".." else f"{done}/{part}"
            node = self.node(here or "/")
            if node is None or node.link is None:
                done = here
                continue
            if (links := links + 1) > MAX_LINKS:
                raise OSError(f"too many links: {path}")
            todo = _parts(node.link) + todo
            done = "" if node.link.startswith("/") else done
        return done or "/"

    def _place(self, path: str) -> tuple[Tree, str]:
        over = [target for target in self.mounts if path == target or _below(path, target)]
        if not over:
            return self.root, path
        target = max(over, key=len)
        return self.mounts[target], path.removeprefix(target) or "/"

    def _all(self) -> Iterator[tuple[str, Node]]:
        for path, node in self.root.nodes.items():
            if self._place(path)[0] is self.root:
                yield path, node
        for target, tree in self.mounts.items():
            for path, node in tree.nodes.items():
                yield (target + path).rstrip("/"), node


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _parents(path: str) -> Iterator[str]:
    yield "/"
    for at, letter in enumerate(path):
        if letter == "/" and at:
            yield path[:at]
