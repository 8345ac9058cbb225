"""A NebulaGraph space as a URL, so that a configuration names it in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.nebula_client import Address, NebulaOptions

SCHEMES = ("nebula", "nebulas")
_PORT = 9669
_NUMBERS = {"timeout": float, "retries": int, "sessions": int, "partitions": int, "replicas": int}
_FILES = ("ca", "cert", "key")


@dataclass(frozen=True, slots=True)
class NebulaPlace:
    """What a URL says.

    Args:
        options: How to reach the space.
        partitions: Partitions of a new space, 1 and up.
        replicas: Copies of each partition, odd.
    """

    options: NebulaOptions
    partitions: int = 10
    replicas: int = 1


def is_nebula_url(text: str) -> bool:
    """Whether a text names a NebulaGraph space.

    Example:
        >>> is_nebula_url("nebula://10.0.0.5/handbook"), is_nebula_url("ladybug")
        (True, False)
    """
    return text.partition("://")[0] in SCHEMES and "://" in text


def parse_nebula_url(url: str) -> NebulaPlace:
    """Reads ``nebula://user:password@host:port,host:port/space?timeout=30&partitions=10``.

    ``nebulas`` asks for TLS; ``ca``, ``cert`` and ``key`` then name PEM files, and without ``ca``
    the server's certificate is not checked. User and password are percent-encoded and default to
    ``root`` and ``nebula``; the port to 9669. ``timeout`` is in seconds, ``retries`` counts
    repetitions of a statement, ``sessions`` the sessions at a time.

    Raises:
        StoreError: A part that is missing, unknown or of the wrong form; the password is never in
            the message.

    Example:
        >>> place = parse_nebula_url("nebula://u:p%40ss@a:1,b/handbook?partitions=20")
        >>> place.options.addresses, place.options.password, place.partitions
        ((('a', 1), ('b', 9669)), 'p@ss', 20)
    """
    parts = _split(url)
    userinfo, _, hosts = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    numbers, files = _query(parts)
    space = unquote(parts.path.strip("/"))
    options = NebulaOptions(
        addresses=tuple(_address(host) for host in hosts.split(",")),
        user=unquote(user) or "root",
        password=unquote(password) if password else "nebula",
        space=space or "semxpath",
        timeout=numbers.pop("timeout", 30.0),
        retries=numbers.pop("retries", 6),
        sessions=numbers.pop("sessions", 16),
        tls=_tls(files, hosts) if parts.scheme == "nebulas" else None,
    )
    return NebulaPlace(options, **numbers)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _refusal("the URL of a NebulaGraph space cannot be read") from None
    if parts.scheme not in SCHEMES:
        raise _refusal(f"no NebulaGraph is reached by '{printable(parts.scheme)}'")
    return parts


def _address(text: str) -> Address:
    host, _, port = (
        text.rpartition(":") if ":" in text and not text.endswith("]") else (text, "", "")
    )
    host = host.strip("[]")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536)):
        raise _refusal(f"'{printable(text)}' is no host and port")
    return host, int(port) if port else _PORT


def _query(parts: SplitResult) -> tuple[dict[str, Any], dict[str, str]]:
    numbers: dict[str, Any] = {}
    files: dict[str, str] = {}
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key in _FILES and parts.scheme == "nebulas":
            files[key] = value
            continue
        if key not in _NUMBERS:
            raise _refusal(f"a NebulaGraph URL has no option '{printable(key)}'")
        try:
            numbers[key] = _NUMBERS[key](value)
        except ValueError:
            numbers[key] = -1
        if numbers[key] < (0 if key == "retries" else 1e-3) or numbers[key] > 86_400:
            raise _refusal(f"'{key}={printable(value)}' is out of range")
    return numbers, files


def _tls(files: dict[str, str], hosts: str) -> Any:
    import ssl

    from nebula3.Config import SSL_config

    tls = SSL_config()
    tls.ca_certs, tls.certfile, tls.keyfile = (files.get(name) for name in _FILES)
    if tls.ca_certs:
        # By name: the client itself only sees the address that the name stands for.
        tls.cert_reqs, tls.verify_name = ssl.CERT_REQUIRED, _address(hosts.split(",")[0])[0]
    return tls


def _refusal(message: str) -> StoreError:
    return StoreError(message, hint="write nebula://user:password@host:9669/space")
