"""The server: NebulaGraph's graph service on a loopback socket, with faults on demand."""

from __future__ import annotations

import itertools
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from nebula3.common.ttypes import DataSet, ErrorCode, NList, NMap, NullType, Row, Tag, Value
from nebula3.common.ttypes import Edge as WireEdge
from nebula3.common.ttypes import Vertex as WireVertex
from nebula3.fbthrift.protocol.THeaderProtocol import THeaderProtocol
from nebula3.fbthrift.transport.THeaderTransport import THeaderTransport
from nebula3.fbthrift.transport.TSocket import TSocket
from nebula3.fbthrift.transport.TTransport import TBufferedTransport, TTransportException
from nebula3.graph import GraphService
from nebula3.graph.ttypes import AuthResponse, ExecutionResponse, VerifyClientVersionResp

from .errors import NebulaError
from .session import Session, Table
from .statements import execute
from .storage import Space
from .values import EMPTY, Edge, Nothing, Vertex

_NULLS = {
    "BAD_TYPE": NullType.BAD_TYPE,
    "UNKNOWN_PROP": NullType.UNKNOWN_PROP,
    "ERR_OVERFLOW": NullType.ERR_OVERFLOW,
    "DIV_BY_ZERO": NullType.DIV_BY_ZERO,
}


class DroppedError(Exception):
    """A fault: the connection breaks before the answer is sent."""


class NebulaEmulator:
    """An emulated server; use it as a context manager.

    ``statements`` records every text received with its parameters. ``faults`` are taken one for
    each statement: ``None`` lets it pass, a function may raise or sleep before it runs.
    """

    def __init__(
        self,
        *,
        password: str = "nebula",
        version_ok: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.password = password
        self.version_ok = version_ok
        self.spaces: dict[str, Space] = {}
        self.sessions: dict[int, Session] = {}
        self.statements: list[tuple[str, dict[str, Any]]] = []
        self.faults: list[Callable[[], None] | None] = []
        self.received_bytes = 0
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        emulator = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                emulator._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> NebulaEmulator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    # -- the service ------------------------------------------------------------------------

    def verifyClientVersion(self, _: Any) -> VerifyClientVersionResp:  # noqa: N802
        if self.version_ok:
            return VerifyClientVersionResp(error_code=ErrorCode.SUCCEEDED)
        return VerifyClientVersionResp(
            error_code=ErrorCode.E_CLIENT_SERVER_INCOMPATIBLE,
            error_msg=b"incompatible version",
        )

    def authenticate(self, username: bytes, password: bytes) -> AuthResponse:
        if _text(password) != self.password or _text(username) != "root":
            return AuthResponse(
                error_code=ErrorCode.E_BAD_USERNAME_PASSWORD,
                error_msg=b"Invalid password",
            )
        session_id = next(self._ids)
        self.sessions[session_id] = Session(self.spaces)
        return AuthResponse(
            error_code=ErrorCode.SUCCEEDED,
            session_id=session_id,
            time_zone_offset_seconds=0,
            time_zone_name=b"UTC",
        )

    def signout(self, session_id: int) -> None:
        self.sessions.pop(session_id, None)

    def execute(self, session_id: int, stmt: bytes) -> ExecutionResponse:
        return self.executeWithParameter(session_id, stmt, {})

    def executeWithParameter(  # noqa: N802
        self, session_id: int, stmt: bytes, parameters: dict[bytes, Value] | None
    ) -> ExecutionResponse:
        text = _text(stmt)
        given = {_text(key): from_wire(value) for key, value in (parameters or {}).items()}
        with self._lock:
            self.statements.append((text, given))
            self.received_bytes += len(stmt)
            fault = self.faults.pop(0) if self.faults else None
        session = self.sessions.get(session_id)
        try:
            if fault is not None:
                fault()
            if session is None:
                raise NebulaError("Session not existed!", ErrorCode.E_SESSION_INVALID)
            with self._lock:
                session.parameters = given
                return _answer(execute(session, text), session)
        except NebulaError as error:
            return ExecutionResponse(
                error_code=error.code,
                latency_in_us=1,
                error_msg=str(error).encode(),
                space_name=(session.current if session else "").encode(),
            )

    def _serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:  # the client does not speak TLS, or does not trust us
                return
        transport = TSocket()
        transport.setHandle(connection)
        protocol = THeaderProtocol(THeaderTransport(TBufferedTransport(transport)))
        processor = GraphService.Processor(self)
        processor.setEventHandler(_Watch())
        try:
            while True:
                processor.process(protocol, protocol)
        except (TTransportException, OSError, DroppedError, ValueError):
            pass


class _Watch:
    """Lets a fault break the connection instead of becoming an answer."""

    def getHandlerContext(self, *_: Any) -> None:  # noqa: N802
        return None

    def handlerError(self, _: Any, __: str, error: BaseException) -> None:  # noqa: N802
        raise error

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args: None


# -- faults -----------------------------------------------------------------------------------


def drop() -> None:
    """The connection breaks."""
    raise DroppedError


def slow(seconds: float) -> Callable[[], None]:
    """The answer comes late."""
    return lambda: time.sleep(seconds)


def leader_changed() -> None:
    """A partition has a new leader."""
    raise NebulaError("Storage Error: part: 1, error: E_LEADER_CHANGED(-3531).")


def schema_not_found() -> None:
    """The storage has not heard of a new tag yet."""
    raise NebulaError("Storage Error: Tag not found.", ErrorCode.E_TAG_NOT_FOUND)


def session_expired() -> None:
    """The session is gone."""
    raise NebulaError("Session was not found", ErrorCode.E_SESSION_INVALID)


def storage_error() -> None:
    """A fault that does not pass."""
    raise NebulaError("Storage Error: Storage is corrupt")


# -- values on the wire -----------------------------------------------------------------------


def _text(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")


def from_wire(value: Value) -> Any:
    """A value that the client sent."""
    kind = value.getType()
    if kind == Value.SVAL:
        return _text(value.get_sVal())
    if kind == Value.IVAL:
        return value.get_iVal()
    if kind == Value.FVAL:
        return value.get_fVal()
    if kind == Value.BVAL:
        return value.get_bVal()
    if kind == Value.LVAL:
        return [from_wire(item) for item in value.get_lVal().values]
    if kind == Value.NVAL:
        return None
    raise NebulaError(f"the emulator takes no parameter of type {kind}")


def to_wire(value: Any) -> Value:
    """A value as the server sends it."""
    if value is EMPTY:
        return Value()
    if isinstance(value, Nothing):
        return Value(nVal=_NULLS[value.name])
    if value is None:
        return Value(nVal=NullType.__NULL__)
    if isinstance(value, bool):
        return Value(bVal=value)
    if isinstance(value, int):
        return Value(iVal=value)
    if isinstance(value, float):
        return Value(fVal=value)
    if isinstance(value, str):
        return Value(sVal=value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return Value(lVal=NList(values=[to_wire(item) for item in value]))
    if isinstance(value, dict):
        return Value(mVal=NMap(kvs={k.encode(): to_wire(v) for k, v in value.items()}))
    if isinstance(value, Vertex):
        tags = [
            Tag(name=name.encode(), props={k.encode(): to_wire(v) for k, v in props.items()})
            for name, props in value.tags.items()
        ]
        return Value(vVal=WireVertex(vid=to_wire(value.vid), tags=tags))
    assert isinstance(value, Edge)
    return Value(
        eVal=WireEdge(
            src=to_wire(value.src),
            dst=to_wire(value.dst),
            type=-1 if value.reverse else 1,
            name=value.name.encode(),
            ranking=value.rank,
            props={k.encode(): to_wire(v) for k, v in value.props.items()},
        )
    )


def _answer(table: Table, session: Session) -> ExecutionResponse:
    rows = [Row(values=[to_wire(value) for value in row]) for row in table.rows]
    data = DataSet(column_names=[name.encode() for name in table.columns], rows=rows)
    return ExecutionResponse(
        error_code=ErrorCode.SUCCEEDED,
        latency_in_us=1,
        data=data if table.columns else None,
        space_name=session.current.encode(),
    )
