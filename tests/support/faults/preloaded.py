"""Imports of processes forked from the server of :mod:`tests.support.faults.children`.

The server imports this module once. Without it each of hundreds of processes would load these libraries and the table
of nicknames again, and its collector would go through, and so copy, all that the server had loaded.
"""

import gc

import filelock
import nicknames
import tantivy

import tests.support.faults.jobs
import tests.support.faults.remote
import tests.support.programs
import worlddb.public
import worlddb.tools.cli.main
import worlddb.tools.mcp.server
from worlddb.reconciler.similarity import scores

__all__ = ["filelock", "nicknames", "tantivy", "tests", "worlddb"]

scores.is_known("ada")
gc.collect()
gc.freeze()
