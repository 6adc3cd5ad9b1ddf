"""A way to a timestamp server that always comes to an end: the signing library would wait for a silent one for ever.

Decides how long is waited and how much is read. It listens on this machine alone, at a path that nobody can guess.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_WAIT_S = 5.0
_MOST_BYTES = 1 << 16
_TYPE = "application/timestamp-query"


class TimestampRelay:
    """Hands queries on to one server, as long as this process lives."""

    def __init__(self, server: str, wait_s: float = _WAIT_S) -> None:
        self._path = f"/{secrets.token_urlsafe(16)}"
        path = self._path

        class Relay(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                if self.path != path or not length.isdecimal() or int(length) > _MOST_BYTES:
                    self.send_error(HTTPStatus.NOT_FOUND)
                    return
                answer = _asked(server, self.rfile.read(int(length)), wait_s)
                if answer is None:
                    self.send_error(HTTPStatus.BAD_GATEWAY)
                    return
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                """Said by whoever signs, in a note."""

        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
        self._listener.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_port}{self._path}"

    def start(self) -> None:
        """Begin to listen."""
        threading.Thread(target=self._listener.serve_forever, name="timestamps", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown()
        self._listener.server_close()


def _asked(server: str, query: bytes, wait_s: float) -> bytes | None:
    """The server's answer; None for any other end. Redirections are not followed."""
    place = urlsplit(server)
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        with closing(kind(place.netloc, timeout=wait_s)) as connection:
            connection.request("POST", target, query, {"Content-Type": _TYPE})
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES + 1)
            good = answer.status == HTTPStatus.OK and len(content) <= _MOST_BYTES
            return content if good else None
    except (OSError, HTTPException, ValueError):
        return None
