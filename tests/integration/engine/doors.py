"""Ways to an engine that is behind a unix socket, and engines that answer wrongly."""

import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path


class _Threaded(socketserver.ThreadingMixIn):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True


class _UnixServer(_Threaded, socketserver.UnixStreamServer):
    pass


@contextmanager
def tcp_door(engine_socket: str, certificates: Path | None = None) -> Iterator[int]:
    """Serve an engine's socket on a TCP port of the loopback address, which this gives."""
    tls = [certificates] if certificates else []
    door = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("tcp_door.py"), engine_socket, *tls],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with door:
        assert door.stdout is not None
        yield int(door.stdout.readline())
        door.kill()


def make_certificates(folder: Path) -> Path:
    """Write ca.pem, cert.pem and key.pem for 127.0.0.1."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "ca.pem").write_bytes(cert.read_bytes())
    return folder


Answers = Mapping[str, tuple[int, bytes] | Callable[[], None]]
"""By the end of a request's path: status and body, or a function that is to be called first."""


@contextmanager
def wrong_engine(path: Path, answers: Answers) -> Iterator[str]:
    """An engine on a unix socket that gives these answers; ``*`` stands for all other paths."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            where = self.path.partition("?")[0]
            found = next((end for end in answers if end != "*" and where.endswith(end)), "*")
            given = answers[found]
            if not isinstance(given, tuple):
                given()
                self.close_connection = True
                return
            status, body = given
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if where.endswith("/images/create"):
                self.send_header("Transfer-Encoding", "chunked")
                body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            else:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_PUT = do_HEAD = answer  # noqa: N815  # as the library has it

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_args: object) -> None:
            pass

    with _UnixServer(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"unix://{path}"
        server.shutdown()
