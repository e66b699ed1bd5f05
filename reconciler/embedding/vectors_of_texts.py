"""Vectors of texts: embed texts without one, and find worlds whose text is near to a given one.

Texts are embedded outside of any write, and the vectors are recorded as a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import blobs, codec, errors
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import analysis, catchup, vector_rows
from worlddb.projections.tables.names import canonical
from worlddb.projections.tables.reads.asof import OpenSpace, find_space, spaces, vector_place, vectors_of
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.embedding.embedder import Embedder, call_model, centre_and_normalise, mean_of, unit_vectors

if TYPE_CHECKING:
    from worlddb.projections.indexes.fields import TextDocument
    from worlddb.projections.indexes.vector_rows import Matrix, VectorHit
    from worlddb.reconciler.commands import commands as cmd
    from worlddb.reconciler.embedding.embedder import Vectors
    from worlddb.reconciler.transaction import context

BATCH_TEXTS: Final = 2_000
BATCH_CHARACTERS: Final = 8_000_000
"""How much is embedded in one commit: more would delay other writers."""
CHECKED_VECTORS: Final = 64
"""Among how many stored vectors one is looked for whose text is still there."""
_ENRICHMENT: Final = "Enrichment"
MAX_LINES: Final = 40
"""How many inferred lines of a text get vectors of their own."""
SAME_MODEL: Final = 0.99
"""The least cosine of two vectors that one model gives of one text: 16-bit storage and other processors cost less."""


class Pending(NamedTuple):
    """A text without a vector: the content of a version.

    A world that is only a name gets none. What was inferred of a text has a vector for all of it and one for each of
    its ``lines``; where it is to be compared by another text, that one alone.
    """

    lineage: bytes
    version: int
    text: str
    lines: tuple[str, ...] | None = None


class Batch(NamedTuple):
    """Texts to embed, and the span of commits that they are from."""

    texts: list[Pending]
    after: int
    through: int


def pending(log: LmdbLog, tables: Tables, space: OpenSpace | None) -> Iterator[tuple[int, Pending]]:
    """(commit, text) of every version that has a text and no vector in the space, in log order."""
    for found in catchup.documents_without_vector(log, tables, space, log.head().seq):
        text, lines = found.content, None
        if found.type == _ENRICHMENT:
            text, lines = _inferred_texts(log, tables, found)
        yield found.seq, Pending(tables.node(found.node).lineage, found.version, text, lines)


def _inferred_texts(log: LmdbLog, tables: Tables, found: TextDocument) -> tuple[str, tuple[str, ...] | None]:
    """The texts to embed of an enrichment, whole and by lines; of other worlds their text."""
    # Loaded where something was inferred: a recall from the shell waits for what it loads.
    from worlddb.projections.tables.consolidation.interior_witness import EMBEDDED, MADE_OF
    from worlddb.reconciler.transaction import recorded_texts

    row = tables.version(found.node, found.version)
    details = recorded_texts.details_at(log, row.seq, row.details)
    if details is None or MADE_OF not in details.properties:
        return found.content, None
    instead = details.properties.get(EMBEDDED)
    if isinstance(instead, str) and instead:
        return instead, ()
    lines = tuple(filter(None, found.content.split("\n")))[:MAX_LINES]
    return found.content, lines if len(lines) > 1 else ()


def next_embedding_batch(log: LmdbLog, tables: Tables, space: OpenSpace | None, most: int) -> Batch:
    """The next texts to embed, ``most`` at most.

    A commit that is larger than a batch is done in several.
    """
    after = 0 if space is None else space.row.through
    texts: list[Pending] = []
    characters = 0
    for seq, found in pending(log, tables, space):
        if len(texts) >= most or characters >= BATCH_CHARACTERS:
            return Batch(texts, after, max(after, seq - 1))
        texts.append(found)
        characters += len(found.text)
    return Batch(texts, after, log.head().seq)


def command_of(batch: Batch, embedder: Embedder, space: OpenSpace | None, name: str) -> cmd.Embed:
    """Run the model on a batch, and return the command that stores the vectors.

    Raises:
        InputError: the space was made by another model, or the embedder gave what is no vector.
        ModelUnavailable: the model is not there, or failed.
    """
    import numpy as np

    from worlddb.reconciler.commands import commands as cmd

    if space is not None:
        check_model(space, embedder)
    mean = mean_of(embedder) if space is None else np.frombuffer(space.mean, dtype="<f4")
    analyses = [
        analysis.extract_statements(each.text) if each.lines is None else analysis.SpokenStatements([], 0)
        for each in batch.texts
    ]
    # A text that is one statement and nothing else has one vector, which is both.
    parts = [
        [each.text, *(of for of in each.lines or analysis_of_text.statements if of != each.text)]
        for each, analysis_of_text in zip(batch.texts, analyses, strict=True)
    ]
    vectors = unit_vectors(embedder, mean, [part for each in parts for part in each], query=False)
    rows = iter(vectors.astype("<f2"))
    return cmd.Embed(
        space=name,
        model=embedder.model,
        mean=np.asarray(mean, dtype="<f4").tobytes(),
        dimension=embedder.dimension,
        after=batch.after,
        through=batch.through,
        items=tuple(
            (
                each.lineage,
                each.version,
                b"".join(row.tobytes() for row in islice(rows, len(text_parts))),
                len(analysis_of_text.statements),
                analysis_of_text.percent,
            )
            for each, text_parts, analysis_of_text in zip(batch.texts, parts, analyses, strict=True)
        ),
    )


def check_model(space: OpenSpace, embedder: Embedder) -> None:
    """Check that an embedder's vectors fit a space.

    Raises:
        InputError: the space was made by another model.
        ModelUnavailable: the model could not say how many numbers its vectors have.
    """
    dimension = call_model(embedder.model, lambda: embedder.dimension)
    if (space.model, space.row.dimension) != (embedder.model, dimension):
        raise errors.InputError(
            f"The embedding space {space.name!r:.80} was made by {space.model!r:.80} ({space.row.dimension} numbers),"
            f" not by {embedder.model!r:.80} ({dimension})",
            "Open the store with that embedder, or move to this one: `reembed`",
        )


def stored_sample(log: LmdbLog, tables: Tables, space: OpenSpace) -> tuple[str, Vectors] | None:
    """A text of a space and its stored vector.

    It is the first one that says something and was not erased.
    """
    from worlddb.reconciler.transaction import recorded_texts  # As above.

    for node, version, place in islice(vectors_of(tables, space.number), CHECKED_VECTORS):
        row = tables.version(node, version)
        body = recorded_texts.body_at(log, row.seq, row.position)
        stored = log.blob(*place)
        blob = None if stored is None else codec.decode_blob(stored, place.seq)
        if body is not None and isinstance(blob, blobs.Vector) and body.type != _ENRICHMENT:
            vector = vector_rows.whole_text(blob.values, space.row.dimension)
            if vector.any():
                return body.content, vector
    return None


def refuse_changed(space: OpenSpace, embedder: Embedder, kept: tuple[str, Vectors] | None) -> None:
    """Refuse a model whose vector of a text differs from the stored one.

    Raises:
        InputError: it gives another one, so it is another model under the same name.
        ModelUnavailable: the model is not there, or failed.
    """
    import numpy as np

    if kept is None:
        return
    text, vector = kept
    now = unit_vectors(embedder, np.frombuffer(space.mean, dtype="<f4"), [text], query=False)[0]
    likeness = float(now @ vector)
    if likeness < SAME_MODEL:
        raise errors.InputError(
            f"The model {space.model!r:.80} has changed since it filled the embedding space "
            f"{space.name!r:.80}: for one of its texts the new vector has a cosine of {likeness:.3f} with the "
            "stored one",
            "Give the changed model another name or version, and move to it: `reembed`",
        )


def text_vectors(embedder: Embedder, space: OpenSpace, texts: Sequence[str]) -> list[Vectors]:
    """The vectors of whole texts in a space, in the precision of stored ones.

    Raises:
        InputError: the space was made by another model, or the embedder gave what is no vector.
        ModelUnavailable: the model is not there, or failed.
    """
    import numpy as np

    check_model(space, embedder)
    found = unit_vectors(embedder, np.frombuffer(space.mean, dtype="<f4"), texts, query=False)
    return [vector_rows.whole_text(row.tobytes(), space.row.dimension) for row in found.astype("<f2")]


def query_vector(embedder: Embedder, space: OpenSpace, text: str) -> Vectors:
    """The vector of a question in a space.

    Raises:
        InputError: the space was made by another model.
        ModelUnavailable: the model is not there, or failed.
    """
    import numpy as np

    check_model(space, embedder)
    # Half a character, as a command line may hand it over, is in no stored text, and models raise on it.
    whole = text.encode(errors="replace").decode()
    found: Vectors = unit_vectors(embedder, np.frombuffer(space.mean, dtype="<f4"), [whole], query=True)[0]
    return found


def given_vector(space: OpenSpace, values: Sequence[float]) -> Vectors:
    """A given vector, normalised as those in the space are.

    Raises:
        InputError: it has another number of numbers than those in the space.
    """
    import numpy as np

    if len(values) != space.row.dimension:
        raise errors.InputError(
            f"The vector has {len(values)} numbers, and the embedding space {space.name!r:.80} has "
            f"{space.row.dimension}",
            f"Give a vector from {space.model!r:.80}",
        )
    mean = np.frombuffer(space.mean, dtype="<f4")
    found: Vectors = centre_and_normalise(np.asarray([values], dtype=np.float32), mean)[0]
    return found


def embed(ctx: context.Context, command: cmd.Embed) -> None:
    """Decide a batch of vectors.

    Nothing is written if another process has embedded the same commits meanwhile. A text that was erased while the
    model ran gets no vector.
    """
    space = find_space(ctx.draft.log, ctx.tables, command.space)
    at = 0 if space is None else space.row.through
    if at != command.after or command.through > ctx.draft.head.seq:
        return
    if space is None:
        number = 1 + sum(1 for _ in spaces(ctx.tables))
        blob = ctx.draft.add_space(command.space, command.model, command.mean)
        ctx.draft.emit(ev.SpaceOpened(number, command.dimension, blob))
    else:
        number = space.number
        if (space.model, space.row.dimension, space.mean) != (command.model, command.dimension, command.mean):
            ctx.refuse(
                "other_model",
                f"The embedding space {space.name[:80]!r} was made by another model",
                "Embed with that model, or into a space of another name",
            )
    for lineage, version, values, statements, stated in command.items:
        node = ctx.tables.node_of(lineage)
        if node is None or vector_place(ctx.tables, number, node, version) is not None:
            continue
        row = ctx.tables.version(node, version)
        if ctx.draft.log.blob(row.seq, row.position) is not None:
            ctx.draft.emit(ev.Embedded(number, lineage, version, ctx.draft.add_vector(values, statements, stated)))
    if command.through > command.after:
        ctx.draft.emit(ev.EmbeddedThrough(number, command.through))


MAX_NEAR: Final = 64
"""How many of the nearest texts are considered as candidates of the resolver."""

LABELLED_TYPES: Final = frozenset({"Scope", "Namespace", "Item", "Document", "Section", "Paragraph"})
"""Types of worlds whose names, if a tool made them, are keys or titles: similar names are different worlds, such as the
users "anna" and "anne"."""
MADE_BY_TOOLS: Final = frozenset({"file", "channel"})
"""Fields of the source of worlds that tools made; it has at least one of them."""

_LABELLED: Final = frozenset(map(canonical.type_digest, LABELLED_TYPES))


class NearestTexts(NamedTuple):
    """An embedding space and its index.

    The index finds the nearest texts to a vector, of some worlds alone if these are given: their worlds and cosines.
    """

    space: int
    dimension: int
    name: str
    model: str
    find: Callable[[Matrix, int, Collection[int] | None], list[VectorHit]]


def near_worlds(
    ctx: context.Context, hits: Sequence[VectorHit], least: float, but: int | None = None
) -> dict[int, tuple[int, float]]:
    """The named worlds of some hits whose newest text was hit, with version and cosine."""
    found = [hit for hit in hits if hit.score >= least and hit.node != but and ctx.has_world(hit.node)]
    newest = [hit for hit in found if ctx.tables.node(hit.node).versions == hit.version]
    return {hit.node: (hit.version, hit.score) for hit in newest if is_named(ctx, hit.node)}


def searched_worlds(ctx: context.Context, world: int) -> list[int] | None:
    """The worlds whose texts are compared in a search inside a world; ``None`` for all.

    They are chosen before the nearest texts, so that texts elsewhere displace no candidate.
    """
    return None if world == ROOT_NODE else list(ctx.interior(world).in_order())


def is_tool_made_place(ctx: context.Context, node: int) -> bool:
    """True for a world that a tool made as a container, with a key or a title as its name.

    The type alone does not say so, for anybody may have worlds of it; where it came from does.
    """
    from worlddb.reconciler.transaction import recorded_texts  # As above.

    first = ctx.tables.version(node, 1)
    if first.type not in _LABELLED:
        return False
    details = recorded_texts.details_at(ctx.draft.log, first.seq, first.details)
    return details is not None and not MADE_BY_TOOLS.isdisjoint(details.source)


def is_named(ctx: context.Context, node: int) -> bool:
    """True if a world has a name that may identify an entity."""
    body = ctx.body(node)
    return body is not None and has_identifying_name((body.name, *ctx.aliases(node)))


def has_identifying_name(names: Sequence[str]) -> bool:
    """True if a name may identify an entity. A world without one is a statement, and near statements stay apart."""
    return any(canonical.name_digest(name) != canonical.NO_NAME for name in names)
