"""What the files for a deployment say is what the program takes: neither a daemon nor a service manager is needed."""

from __future__ import annotations

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

from worlddb.tools.cli.base.arguments import parser_of
from worlddb.tools.cli.server.serve_command import COMMANDS, DEFAULT_PORT

DEPLOY = Path(__file__).parents[2] / "tools" / "server" / "deploy"


def test_the_dockerfile_starts_the_server() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    words = [json.loads(re.findall(rf"^{name} (\[.*\])$", text, re.MULTILINE)[0]) for name in ("ENTRYPOINT", "CMD")]
    given = parser_of(COMMANDS).parse_args([*words[0][1:], *words[1]])
    assert (given.host, given.port) == ("0.0.0.0", str(DEFAULT_PORT))
    assert f"EXPOSE {DEFAULT_PORT}" in text and "USER worlddb" in text


def test_the_unit_starts_the_server_and_lets_it_drain() -> None:
    unit = ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "worlddb.service").read_text("utf-8"))
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    given = parser_of(COMMANDS).parse_args(words)
    assert program.endswith("/worlddb") and given.host == "127.0.0.1"
    assert Path(given.store).parent == Path("/var/lib") / service["StateDirectory"]
    assert service["KillSignal"] == "SIGTERM"
