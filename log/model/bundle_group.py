"""What a bundle says of one world: each thing once, and together what the world's hash stands for."""

from __future__ import annotations

from worlddb.log.model import bundle as fr
from worlddb.log.model.bundle_values import refuse
from worlddb.log.model.hashing import world_hash
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, short
from worlddb.log.model.limits import MAX_ALIASES
from worlddb.log.model.trie import EMPTY_ROOT, Trie
from worlddb.log.model.trie_proof import MemoryNodes

SAME_AS = "same_as"


class Group:
    """The group of one world, as far as it was read."""

    def __init__(self, frame: fr.WorldFrame) -> None:
        self.frame = frame
        self._aliases = 0
        self._ended = False
        self._members: dict[bytes, bytes | None] = {}
        self._edges: dict[bytes, bytes | None] = {}
        self._proposals: dict[bytes, bool] = {}
        self._types: set[str] = set()
        self._tuned: set[str] = set()

    @property
    def lineage(self) -> bytes:
        """The world."""
        return self.frame.lineage

    def add_alias(self) -> None:
        """Another alias."""
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            refuse(f"{short(self.lineage)} has more than {MAX_ALIASES} aliases")

    def end(self) -> None:
        """The world's end."""
        if self._ended:
            refuse(f"{short(self.lineage)} has ended twice")
        self._ended = True

    def add_proposal(self, proposal: bytes, *, accepted: bool) -> None:
        """A proposal; the edge of an accepted one comes behind it."""
        if proposal in self._proposals:
            refuse(f"the proposal {short(proposal)} is given twice")
        self._proposals[proposal] = accepted

    def add_edge(self, frame: fr.EdgeFrame) -> None:
        """An edge of the interior."""
        if frame.edge in self._edges:
            refuse(f"the edge {short(frame.edge)} is given twice")
        if frame.type == SAME_AS and not self._proposals.get(frame.edge):
            refuse(f"nobody accepted that {short(frame.source)} is the same as {short(frame.target)}")
        self._edges[frame.edge] = b""

    def add_member(self, frame: fr.EdgeFrame, member_hash: bytes | None) -> None:
        """A member, with its hash if its group was read."""
        if frame.source != self.lineage:
            refuse(f"the membership {short(frame.edge)} stands with another world than its container")
        if member_hash is None:
            refuse(
                f"the member {short(frame.target)} of {short(frame.source)} is not among the worlds before it:"
                " it is missing, or containment has a cycle"
            )
        if frame.target in self._members:
            refuse(f"{short(frame.target)} is a member of {short(frame.source)} twice")
        self._members[frame.target] = member_hash

    def register(self, edge_type: str) -> None:
        """A registration of an edge type."""
        if edge_type in self._types:
            refuse(f"the edge type {edge_type!r:.80} is registered for {short(self.lineage)} twice")
        self._types.add(edge_type)

    def tune(self, node_type: str) -> None:
        """Thresholds for a node type, or for every type."""
        if node_type in self._tuned:
            refuse(f"thresholds for {node_type or 'every type'!r:.80} are set for {short(self.lineage)} twice")
        self._tuned.add(node_type)

    def close(self, newest: bytes) -> None:
        """See that all of it, with the body of the newest version, is what the world's hash stands for."""
        for proposal, accepted in self._proposals.items():
            if accepted and proposal not in self._edges:
                refuse(f"the accepted proposal {short(proposal)} has no edge")
        members = Trie(MemoryNodes(), LINEAGE_BYTES, HASH_BYTES).update(self._members) if self._members else EMPTY_ROOT
        edges = Trie(MemoryNodes(), HASH_BYTES, 0).update(self._edges) if self._edges else EMPTY_ROOT
        if world_hash(newest, members, edges, self.frame.t_create) != self.frame.world_hash:
            refuse(f"the world {short(self.lineage)} states another hash than what it holds has")
