"""The public face of the command frame: what most commands need, in one import line."""

from argparse import Namespace

from worlddb.tools.cli.base import arguments, stores, wire
from worlddb.tools.cli.base.arguments import BUSY, DONE, NO, Command, Parser
from worlddb.tools.cli.base.output import Output
from worlddb.tools.cli.base.page import Page, Span

__all__ = [
    "BUSY",
    "DONE",
    "NO",
    "Command",
    "Namespace",
    "Output",
    "Page",
    "Parser",
    "Span",
    "arguments",
    "stores",
    "wire",
]
