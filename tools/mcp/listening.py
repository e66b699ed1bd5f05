"""Listening address of the HTTP server: parsing, binding, and the names it answers to.

Imported by the command line, so it needs no SDK.
"""

import errno
import ipaddress
import socket
from typing import Final, NamedTuple

from worlddb import InputError, UnavailableError

DEFAULT_ADDRESS: Final = "127.0.0.1:8766"
PATH: Final = "/mcp"
BACKLOG: Final = 128
UNREAD_SECONDS: Final = 60
"""Time that a client may leave an answer unread before its connection is cut."""
_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


class AddressTaken(UnavailableError):
    """Another program listens at the address."""

    code = "address_taken"


class Address(NamedTuple):
    """A host and a port; port 0 is any free one."""

    host: str
    port: int

    @property
    def shown(self) -> str:
        """The host as it is written in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def is_loopback(self) -> bool:
        """True if only programs on this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.casefold() == "localhost"


def parse_address(text: str) -> Address:
    """Parse ``HOST:PORT``, ``[IPv6]:PORT``, or a port of the loopback interface.

    Raises:
        InputError: it is none of these.
    """
    host, colon, digits = text.strip().rpartition(":")
    host = host if colon else "127.0.0.1"
    bracketed = host.startswith("[") and host.endswith("]")
    if not (digits.isascii() and digits.isdigit() and int(digits[:6]) <= 65_535 and len(digits) <= 5):
        raise _address_error(text)
    if not host or (":" in host) != bracketed:
        raise _address_error(text)
    return Address(host.strip("[]"), int(digits))


def parse_proxy(text: str) -> str:
    """Return the address or network of a proxy as it is compared with those of connections.

    Raises:
        InputError: it is neither.
    """
    try:
        network = ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise InputError(
            f"{text!r:.200} is not the address of a proxy: {error}", "Give one, or a network: 10.0.0.7, 10.0.0.0/24"
        ) from None
    if not network.prefixlen:
        raise InputError(f"{text!r:.200} is every address", "Give the proxy: a trusted address can write into the log")
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def listen(address: Address) -> socket.socket:
    """Return a socket that listens at the address.

    Raises:
        AddressTaken: something listens there already.
        InputError: this machine has no such address.
        OSError: the system does not allow it.
    """
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        raise InputError(f"There is no host {address.host!r:.200}: {error.strerror}", "Check the name") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AddressTaken(
                f"Something listens at {address.shown}:{address.port} already",
                "Stop it, or give another port: --http HOST:PORT; several servers may use one store",
            ) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError(
                f"This machine has no address {address.host!r:.200}", "Give 127.0.0.1, 0.0.0.0 or one of its own"
            ) from None
        raise
    _set_options(listener)
    return listener


def bound_address(listener: socket.socket) -> Address:
    """Return the address of a socket, with the port that it was given if any would do."""
    host, port, *_ = listener.getsockname()
    return Address(str(host), int(port))


def host_names(address: Address) -> list[str]:
    """Return the values of ``Host`` that requests may carry: the address and local names."""
    hosts = dict.fromkeys([address.shown, *_LOOPBACK_NAMES])
    return [f"{host}:{address.port}" for host in hosts]


def _set_options(listener: socket.socket) -> None:
    """Detect vanished peers, cut those that read nothing, and wait with no answer; connections inherit the options."""
    # Else the second piece of an answer waits until the first was acknowledged, which takes 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)


def _address_error(text: str) -> InputError:
    return InputError(
        f"{text!r:.200} is not an address to listen at", f"Write it as {DEFAULT_ADDRESS}, [::1]:8766, or 8766"
    )
