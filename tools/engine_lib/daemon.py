"""One dockerd: its folder, its command line, its start and its end."""

import re
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from engine_lib import host, probe
from engine_lib.errors import EngineToolError
from engine_lib.process import Record, find_identity, stop_process, write_record

STATE_FOLDER = Path("/var/lib/openshell-engine")
START_TIMEOUT_S = 90.0
# dockerd gives each container its own stop timeout (a gateway's is 60 s) and then 5 s more.
STOP_TIMEOUT_S = 150.0
LOOK_INTERVAL_S = 0.1
LOG_LINES = 15


@dataclass(frozen=True)
class Layout:
    """Where one engine keeps things. Private engines keep all of it below their folder."""

    folder: Path
    socket: Path
    exec_root: Path
    is_private: bool = False

    @property
    def record(self) -> Path:
        """What this tool notes about the daemon."""
        return self.folder / "engine.json"

    @property
    def log(self) -> Path:
        """What dockerd says."""
        return self.folder / "dockerd.log"

    @property
    def pid_file(self) -> Path:
        """What dockerd itself notes. The usual place shows another dockerd on the same data."""
        return self.folder / "dockerd.pid" if self.is_private else Path("/var/run/docker.pid")

    @property
    def endpoint(self) -> probe.Endpoint:
        """Where the engine answers."""
        return probe.Endpoint(f"unix://{self.socket}", "default socket")


DEFAULT_LAYOUT = Layout(STATE_FOLDER, Path("/var/run/docker.sock"), Path("/var/run/docker"))


def start(layout: Layout, *, made_folder: bool, prefix: list[str], options: list[str]) -> Record:
    """Start dockerd detached and wait until it answers.

    Args:
        layout: where it keeps things.
        made_folder: whether this tool made the folder, for the record.
        prefix: a command that becomes dockerd, keeping its process id.
        options: further options of dockerd.

    Raises:
        EngineToolError: it ended or did not answer in time; with the last lines of its log.
    """
    remove_stale_pid_files(layout)
    command = [
        *prefix,
        "dockerd",
        f"--host=unix://{layout.socket}",
        f"--pidfile={layout.pid_file}",
        f"--exec-root={layout.exec_root}",
        *_runtime_options(layout.folder),
        *options,
    ]
    if layout.log.exists():
        layout.log.replace(layout.log.with_suffix(".log.1"))
    with layout.log.open("w") as log:
        daemon = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
            preexec_fn=_raise_open_files,  # noqa: PLW1509 - this program has one thread
        )
    record = Record(made_folder, find_identity(daemon.pid))
    write_record(layout.record, record)
    _wait_until_answering(daemon, layout)
    return record


def _raise_open_files() -> None:
    """Containers inherit the daemon's limit; a shell's soft limit is too low for a node."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _runtime_options(folder: Path) -> list[str]:
    lacking = host.lacking_capabilities()
    if not lacking:
        return []
    print(
        f"This machine does not grant {', '.join(lacking)}: "
        f"the default runtime is {host.RUNTIME_NAME}, which does not ask for it.",
        flush=True,
    )
    runtime = host.install_runtime(folder)
    return [
        f"--add-runtime={host.RUNTIME_NAME}={runtime}",
        f"--default-runtime={host.RUNTIME_NAME}",
    ]


def remove_stale_pid_files(layout: Layout) -> None:
    """Remove pid files whose process is gone or is another program by now.

    dockerd refuses to start beside its own pid file if the number is in use, and takes any
    process with containerd's old number for containerd, waits for it, and kills it in the end.
    """
    for path, program in (
        (layout.pid_file, "dockerd"),
        (layout.exec_root / "containerd/containerd.pid", "containerd"),
    ):
        try:
            pid = int(path.read_text())
        except (FileNotFoundError, ValueError):
            path.unlink(missing_ok=True)
            continue
        if program_of(pid) != program:
            path.unlink(missing_ok=True)


def program_of(pid: int) -> str | None:
    """The file name of the program that a process runs; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
    except (FileNotFoundError, ProcessLookupError):
        return None


def _wait_until_answering(daemon: subprocess.Popen[bytes], layout: Layout) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    seen = "nothing listens yet"
    while time.monotonic() < deadline:
        try:
            if probe.find_engine(layout.endpoint):
                return
        except EngineToolError as error:
            seen = str(error)
        try:
            status = daemon.wait(timeout=LOOK_INTERVAL_S)
        except subprocess.TimeoutExpired:
            continue
        raise EngineToolError(_failure(f"dockerd ended with status {status}", layout.log))
    raise EngineToolError(
        _failure(f"dockerd did not answer within {START_TIMEOUT_S:.0f} s ({seen})", layout.log)
    )


def cause_in(log_text: str) -> str | None:
    """What dockerd gives as the reason for ending, from the text of its log."""
    for line in reversed(log_text.splitlines()):
        if line.startswith("failed to start daemon:"):
            return line
        if re.search(r"\blevel=(fatal|panic)\b", line):
            message = re.search(r'\bmsg="((?:[^"\\]|\\.)*)"', line)
            return message[1].replace('\\"', '"') if message else line
    return None


def _failure(what: str, log: Path) -> str:
    text = log.read_text(errors="replace")
    lines = text.splitlines()
    return "\n".join(
        [
            f"{what}: {cause_in(text) or 'its log names no cause'}",
            f"The last lines of {log}:",
            *lines[-LOG_LINES:],
        ]
    )


def stop(layout: Layout, record: Record) -> None:
    """Stop the recorded dockerd, and with it its containers, each within its own stop timeout.

    Raises:
        EngineToolError: it still runs after the timeout.
    """
    if record.process and not stop_process(record.process, STOP_TIMEOUT_S):
        raise EngineToolError(
            f"dockerd (pid {record.process.pid}) still runs {STOP_TIMEOUT_S:.0f} s after it was "
            f"asked to end; see {layout.log}. Nothing else was touched: run this again."
        )
