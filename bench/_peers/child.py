"""A process that opens a peer and obeys commands, one line of JSON each: ``python -m bench._peers.child``.

Its arguments are the peer's name and folder. It answers each line with one of its own: ``null`` or what was found, or
``{"refused": ...}`` with what the peer raised. It ends when nothing more is said.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from bench._peers.contract import Peer, vectors_of
from bench._peers.registry import kind_of

MARK: Final = "worlddb-bench-mark"
"""Asked for before and after writes, so that who looks at calls of the system sees where they begin and end."""


def main() -> None:
    name, folder = sys.argv[1:]
    vectors_of(["This loads the model before the first question."], query=False)
    try:
        peer = kind_of(name).open(Path(folder))
    except Exception as error:
        _say(_refusal(error))
        return
    _say(None)
    for line in sys.stdin:
        try:
            _say(_answer(peer, json.loads(line)))
        except Exception as error:
            _say(_refusal(error))
    peer.close()


def _answer(peer: Peer, asked: dict[str, Any]) -> Any:
    if "search" in asked:
        return peer.search(asked["search"])
    os.access(MARK, os.F_OK)
    for key, text in asked["write"].items():
        peer.write(key, text)
    os.access(MARK, os.F_OK)
    return None


def _refusal(error: Exception) -> dict[str, str]:
    return {"refused": f"{type(error).__name__}: {error}"}


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
