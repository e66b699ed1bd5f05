"""What the files for a deployment say is what the program takes: neither a daemon nor a service manager is needed."""

from __future__ import annotations

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

import worlddb
from worlddb.tools.cli.base.arguments import build_parser
from worlddb.tools.cli.serve import mcp_command
from worlddb.tools.cli.server.serve_command import COMMANDS, DEFAULT_ADDRESS
from worlddb.tools.mcp import listening

DEPLOY = Path(__file__).parents[2] / "tools" / "server" / "deploy"


def test_the_dockerfile_starts_the_server() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    words = [json.loads(re.findall(rf"^{name} (\[.*\])$", text, re.MULTILINE)[0]) for name in ("ENTRYPOINT", "CMD")]
    given = build_parser(COMMANDS).parse_args([*words[0][1:], *words[1]])
    port = listening.parse_address(DEFAULT_ADDRESS).port
    assert mcp_command.chosen_address(given, DEFAULT_ADDRESS) == ("0.0.0.0", port)
    assert f"EXPOSE {port}" in text and "USER worlddb" in text


@pytest.mark.parametrize(
    ("words", "host", "port"),
    [
        ("--http", "127.0.0.1", 8767),
        ("--http 9000", "127.0.0.1", 9000),
        ("--http --port 9000", "127.0.0.1", 9000),
        ("--host ::1", "::1", 8767),
        ("--host 0.0.0.0 --port 0", "0.0.0.0", 0),
        ("--http [::1]:9000", "::1", 9000),
    ],
)
def test_both_servers_take_an_address_in_both_forms(words: str, host: str, port: int) -> None:
    for name, commands in (("serve", COMMANDS), ("mcp", mcp_command.COMMANDS)):
        given = build_parser(commands).parse_args([name, *words.split()])
        assert mcp_command.chosen_address(given, DEFAULT_ADDRESS) == (host, port)
        given = build_parser(commands).parse_args([name, "--http", "127.0.0.1:80", "--port", "81"])
        with pytest.raises(worlddb.InputError, match="has a host and a port"):
            mcp_command.chosen_address(given, DEFAULT_ADDRESS)


def test_the_unit_starts_the_server_and_lets_it_drain() -> None:
    unit = ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "worlddb.service").read_text("utf-8"))
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    given = build_parser(COMMANDS).parse_args(words)
    assert program.endswith("/worlddb") and mcp_command.chosen_address(given, DEFAULT_ADDRESS).is_loopback
    assert Path(given.store).parent == Path("/var/lib") / service["StateDirectory"]
    assert service["KillSignal"] == "SIGTERM"
