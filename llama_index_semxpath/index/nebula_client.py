"""Sessions with NebulaGraph: pooled, bound to one space, retried where a fault passes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.errors import StoreError, StoreVersionError
from llama_index_semxpath.index.codec import printable

Address = tuple[str, int]
Rows = list[list[Any]]
#: Faults that pass: a new leader, a schema that has not reached every service yet, a lost session.
_PASSING = re.compile(
    r"LEADER_CHANGED|leader|TagNotFound|EdgeNotFound|Tag not found|Edge not found|No schema found"
    r"|not existed|Unknown column|not found the property|IndexNotFound|no index to use"
    r"|SpaceNotFound|Session (?:was )?not|timed out|RPC failure|Host not enough",
    re.IGNORECASE,
)
#: The longest pause. A schema reaches every service within two heartbeats of 10 s.
_LONGEST_PAUSE = 8.0
_SPACE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class NebulaOptions:
    """How to reach a server.

    Args:
        addresses: ``(host, port)`` of each graph service.
        user: User name.
        password: Password.
        space: The space: a letter or underscore, then letters, digits and underscores, 63 at most.
        timeout: Seconds to wait for an answer, > 0.
        retries: How often a statement is sent again, 0 and up.
        backoff: Seconds before the first repetition, doubled each time up to 8.
        sessions: Sessions at a time, 1 and up; more threads wait.
        tls: ``nebula3.Config.SSL_config`` for TLS; ``None`` without.
    """

    addresses: Sequence[Address]
    user: str = "root"
    password: str = field(default="nebula", repr=False)
    space: str = "semxpath"
    timeout: float = 30.0
    retries: int = 9
    backoff: float = 0.1
    sessions: int = 16
    tls: Any = None


class NebulaClient:
    """Runs statements on pooled sessions.

    Args:
        options: How to reach the server.
        sleep: Waits between repetitions; for tests.

    Raises:
        StoreError: No server answers, the password is wrong, or the space's name is not allowed.
        StoreVersionError: The server speaks another protocol version.
    """

    def __init__(
        self, options: NebulaOptions, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not _SPACE_NAME.fullmatch(options.space):
            raise StoreError(
                "a space's name is a letter, then letters, digits and underscores, 63 at most",
                where=printable(options.space),
            )
        self.options = options
        self.statements = 0
        self._sleep = sleep
        self.bytes = 0
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(options.sessions)
        self._in_space = False
        self._pool = self._connect()

    @property
    def where(self) -> str:
        """The server and space, for messages."""
        host, port = self.options.addresses[0]
        return f"nebula://{host}:{port}/{self.options.space}"

    def enter_space(self) -> None:
        """From now on every session works in the space."""
        self._in_space = True
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.release()

    def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Rows of a statement, repeated with growing pauses while a fault may pass.

        Raises:
            StoreError: The statement failed for good.
        """
        message = ""
        for attempt in range(self.options.retries + 1):
            if attempt:
                self._sleep(min(self.options.backoff * 2 ** (attempt - 1), _LONGEST_PAUSE))
            with self._slots:
                rows, message, passing = self._attempt(text, parameters or {})
            if rows is not None:
                return rows
            if not passing:
                break
        raise StoreError(f"NebulaGraph refused a statement: {printable(message)}", where=self.where)

    def close(self) -> None:
        """Signs out; a second call does nothing."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.release()
        self._pool.close()

    def _attempt(self, text: str, parameters: Mapping[str, Any]) -> tuple[Rows | None, str, bool]:
        """One try: the rows, or what went wrong and whether it may pass."""
        from nebula3.Exception import IOErrorException, NotValidConnectionException
        from nebula3.gclient.net.base import _build_byte_param

        with self._lock:
            self.statements += 1
            self.bytes += len(text.encode())
        try:
            session = self._session()
        except (OSError, IOErrorException, NotValidConnectionException, RuntimeError) as error:
            return None, str(error), True
        try:
            result = session.execute_parameter(text, _build_byte_param(dict(parameters)))
        except (IOErrorException, OSError, RuntimeError) as error:
            self._drop(session)
            return None, str(error), True
        if result.is_succeeded():
            with self._lock:
                self._idle.append(session)
            return [[plain(value) for value in row.values] for row in result.rows()], "", False
        message = result.error_msg() or f"error {result.error_code()}"
        if "ession" in message:
            self._drop(session)
        else:
            with self._lock:
                self._idle.append(session)
        return None, message, bool(_PASSING.search(message))

    def _session(self) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        session = self._pool.get_session(self.options.user, self.options.password)
        if self._in_space:
            result = session.execute(f"USE `{self.options.space}`")
            if not result.is_succeeded():
                session.release()
                raise RuntimeError(result.error_msg())
        return session

    def _drop(self, session: Any) -> None:
        try:
            session.release()
        except Exception:  # the connection is gone: there is nobody to sign out from
            return

    def _connect(self) -> Any:
        import logging

        from nebula3.Config import Config
        from nebula3.Exception import AuthFailedException
        from nebula3.gclient.net import ConnectionPool

        # The client logs each fault; what matters of it is in our errors.
        logging.getLogger("nebula3").setLevel(logging.CRITICAL)
        config = Config()
        config.timeout = int(self.options.timeout * 1000)
        config.max_connection_pool_size = self.options.sessions * len(self.options.addresses)
        addresses = self._answering()
        pool = ConnectionPool()
        try:
            pool.init(addresses, config, self.options.tls)
            self._idle.append(pool.get_session(self.options.user, self.options.password))
        except AuthFailedException as error:
            pool.close()
            raise StoreError("NebulaGraph refused user or password", where=self.where) from error
        except Exception as error:
            pool.close()
            raise StoreError(f"NebulaGraph does not answer: {error}", where=self.where) from error
        return pool

    def _answering(self) -> list[Address]:
        """The addresses that answer: a cluster works while one of its graph services does."""
        from nebula3.Exception import ClientServerIncompatibleException
        from nebula3.gclient.net.Connection import Connection

        found: list[Address] = []
        message = "no address given"
        for host, port in self.options.addresses:
            connection = Connection()
            try:
                milliseconds = int(self.options.timeout * 1000)
                connection.open_SSL(host, port, milliseconds, self.options.tls)
                found.append((host, port))
            except ClientServerIncompatibleException as error:
                raise StoreVersionError(
                    "NebulaGraph speaks another protocol version",
                    where=f"nebula://{host}:{port}",
                    hint="this client works with NebulaGraph 3",
                ) from error
            except Exception as error:  # of the socket, of TLS or of the protocol
                message = str(error) or type(error).__name__
            finally:
                with suppress(Exception):
                    connection.close()
        if not found:
            raise StoreError(f"NebulaGraph does not answer: {message}", where=self.where)
        return found


def plain(value: Any) -> Any:
    """The Python value of an answer's cell; ``None`` for NULL and for what is not there."""
    from nebula3.common.ttypes import Value

    kind = value.getType()
    if kind == Value.SVAL:
        data = value.get_sVal()
        return data.decode("utf-8") if isinstance(data, bytes) else data
    if kind == Value.IVAL:
        return value.get_iVal()
    if kind == Value.FVAL:
        return value.get_fVal()
    if kind == Value.BVAL:
        return value.get_bVal()
    if kind == Value.LVAL:
        return [plain(item) for item in value.get_lVal().values]
    return None
