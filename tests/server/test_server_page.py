"""The page of the server: its walk runs as it is written, by curl."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.server.test_serve import serving

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash")
def test_the_walk_of_the_page_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    script = "shopt -s expand_aliases; set -e -o pipefail\n" + "\n".join(blocks)
    with serving(tmp_path / "store") as server:
        where = {"PATH": "/usr/bin:/bin", "URL": server.url, "KEY": server.key}
        how: Any = {"env": where, "cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
        ran = subprocess.run(["bash", "-c", script], check=False, **how)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count('"refs"') >= 5
