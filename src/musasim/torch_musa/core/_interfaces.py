"""MCCL_SOCKET_IFNAME, by which the library chooses a network interface. The simulator's groups are gloo's, which has its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE, _GLOOS = "MCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"


@contextmanager
def on_the_interface_asked_for() -> Iterator[None]:
    """Have gloo connect through it, unless the program has told gloo another."""
    asked = os.environ.get(_VARIABLE)
    if not asked or _GLOOS in os.environ:
        yield
        return
    os.environ[_GLOOS] = chosen(asked, [name for _, name in socket.if_nameindex()])
    try:
        yield
    finally:
        del os.environ[_GLOOS]


def chosen(asked: str, interfaces: list[str]) -> str:
    """The first interface that the variable allows: prefixes, or whole names after "=", and all others after "^"."""
    is_excluding = asked.startswith("^")
    rest = asked.removeprefix("^")
    is_exact = rest.startswith("=")
    words = [word for word in rest.removeprefix("=").split(",") if word]

    def is_named(interface: str) -> bool:
        return any(interface == word if is_exact else interface.startswith(word) for word in words)

    allowed = [interface for interface in interfaces if is_named(interface) != is_excluding]
    if not allowed:
        raise RuntimeError(
            f"{_VARIABLE}={asked!r} allows no network interface of this machine: {', '.join(interfaces)}"
        )
    return allowed[0]
