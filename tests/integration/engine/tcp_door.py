"""Serves a unix socket on a TCP port of the loopback address, with TLS if a folder is given.

A process of its own and one thread: a TLS connection that two threads use at once crashes Python.
Prints the port, and goes on until it is ended. Arguments: SOCKET [FOLDER with ca, cert, key].
"""

import asyncio
import ssl
import sys
from pathlib import Path


def server_context(folder: Path) -> ssl.SSLContext:
    """A server that shows cert.pem and wants one that ca.pem has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


async def main(engine_socket: str, tls: ssl.SSLContext | None) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(engine_socket)
        inward = asyncio.ensure_future(pump(reader, far_writer))
        try:
            await pump(far_reader, writer)
        finally:
            writer.close()
            far_writer.close()
            inward.cancel()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    where, *folder = sys.argv[1:]
    asyncio.run(main(where, server_context(Path(folder[0])) if folder else None))
