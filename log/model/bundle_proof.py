"""The proof in a bundle: whether it is about the bundle's world, and whether a head stands for that."""

from __future__ import annotations

from worlddb.log.model.bundle import Heading
from worlddb.log.model.bundle_values import refuse
from worlddb.log.model.checkpoint import Anchor
from worlddb.log.model.errors import UnprovedBundle, WorldDBError
from worlddb.log.model.proof import ROOT, Inclusion, check, proved_world, read_proof


def read_bundle_proof(stored: bytes, heading: Heading) -> Inclusion:
    """The proof, if it leads to the world, the hash, the commit and the store that the heading states.

    Raises:
        InvalidBundle: it does not.
    """
    try:
        proof = read_proof(stored, "the proof")
    except WorldDBError as error:
        refuse(error.message)
    if not isinstance(proof, Inclusion) or proof.edge is not None:
        refuse("the proof is not one of a world")
    if (proof.store, proof.seq) != (heading.store_id.hex(), heading.seq):
        refuse(f"the proof is of commit {proof.seq} of store {proof.store}, and the bundle of another")
    try:
        lineage, reached, chain = proved_world(proof)
    except ValueError as error:
        refuse(f"the proof does not hold: {error}")
    # The hash of the root world does not tell its lineage.
    if lineage not in (heading.world.hex(), ROOT) or reached != heading.world_hash:
        refuse("the proof leads to another world hash than the bundle's")
    if chain != heading.chain:
        refuse("the proof is of another commit than the one whose chain hash the bundle states")
    return proof


def hold_against(proof: Inclusion | None, head: Anchor, name: str) -> None:
    """See that a head stands for the world hash of a bundle that was checked; ``name`` is the bundle's.

    Raises:
        UnprovedBundle: there is no proof, it was made for another head, or the head lacks a signature.
    """
    if proof is None:
        raise UnprovedBundle(
            f"The bundle {name} has no proof that could be held against the head",
            "Export it again with its proof; or leave the head out, and compare the bundle's hash with the sender's",
            file=name,
        )
    found = check(proof, [head])
    if not found.ok:
        raise UnprovedBundle(
            f"The world hash of the bundle {name} is not shown to be what the head stands for: {found.reason}",
            f"Give a head of {proof.size} commits of store {proof.store}, or export with a proof for the head at hand",
            file=name,
        )
