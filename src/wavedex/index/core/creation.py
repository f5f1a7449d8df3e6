"""How an index comes to be: folders, then the first manifest, and last of all the definition.

Without a definition there is no index. So a crash on the way leaves none, and what it does leave a
second attempt may take for its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from wavedex.errors import (
    AlreadyExists,
    BadDefinition,
    CommitUncertain,
    ConcurrentWrite,
    NotAnIndex,
    SchemaMismatch,
)
from wavedex.files import names
from wavedex.files.contract import AnyFiles, is_there
from wavedex.files.names import DATA, DEFINITION, LOCK, LOG, SET
from wavedex.files.spread import SpreadFiles
from wavedex.index.core.definition import Definition, read_definition
from wavedex.index.core.delivery import Offer, offer_of
from wavedex.index.core.roots import all_files
from wavedex.index.core.surroundings import Surroundings
from wavedex.log.manifest import Log, Manifest


def offered_by(schema: Any, rows: bool) -> tuple[pa.Schema, Offer | None]:
    """The columns of an index that is to be: a schema's, or those of rows of any kind.

    With `rows`, the rows too. Raises BadDefinition.
    """
    if isinstance(schema, pa.Schema):
        if rows:
            raise BadDefinition(
                "rows=True appends the rows that the columns are taken from, and a schema has "
                "none. Pass a table, a data frame or a reader, or leave rows= out."
            )
        return schema, None
    offer = offer_of(schema)
    try:
        return offer.schema, offer if rows else None
    except SchemaMismatch as error:
        raise BadDefinition(
            f"The columns of the index are those of a pyarrow.Schema, a table, a data frame or a "
            f"reader. {error}"
        ) from error


@contextmanager
def forgetting(files: AnyFiles) -> Iterator[None]:
    """There is no index after all where its first rows are refused.

    It stays where they are in, or may be, and only what follows failed.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, CommitUncertain) or Log(files).commits() != [0]:
            raise
        files.remove(DEFINITION)
        for name in [*(f"{LOG}/{each}" for each in files.list(LOG)), LOCK]:
            files.remove(name)
        for folder in (DATA, LOG, "") if files.is_local else ():
            with suppress(OSError):  # It is not ours alone.
                os.rmdir(files.path(folder))
        raise


def create_at(
    path: str | os.PathLike[str], definition: Definition, around: Surroundings
) -> AnyFiles:
    """Make an empty index and return its files.

    Raises AlreadyExists, SchemaTaken and BadDefinition.
    """
    own = around.files(path)
    _check_apart(own, definition)
    files = all_files(own, definition, around)
    definition.check_place(files)
    _check_free(files)
    definition.package.check_free()
    files.make_folder("")
    with files.lock(LOCK):
        _check_free(files)
        for folder in (DATA, LOG):
            files.make_folder(folder)
        if isinstance(files, SpreadFiles):
            files.mark()
        token = around.token()
        first = Manifest(
            0,
            "create",
            around.now().isoformat(),
            tokens=(token,),
            # Without a lock, one who comes after a crash takes over what is left, and may want
            # another index.
            definition=definition.checksum if files.is_local else "",
        )
        _begin_log(files, first)
        try:
            files.publish(DEFINITION, definition.to_bytes(), names.definition_draft(token))
        except FileExistsError:
            raise _taken(files) from None
        files.sync_folder(names.ABOVE)
    return files


def _begin_log(files: AnyFiles, first: Manifest) -> None:
    """Commit the first manifest, or take the one for it that another attempt has left.

    Where no lock keeps others out, that attempt may still be under way. Nothing of it is removed
    then.
    """
    for leftover in files.list(LOG) if files.is_local else ():
        files.remove(f"{LOG}/{leftover}")
    log = Log(files)
    try:
        log.commit(first, first.tokens[-1])
    except ConcurrentWrite:
        found = log.find(first.commit)
        if (
            found is None
            or replace(found, written_at=first.written_at, tokens=first.tokens) != first
        ):
            raise _taken(files) from None


def open_at(
    path: str | os.PathLike[str], around: Surroundings, kinds: Iterable[type[Definition]]
) -> tuple[AnyFiles, Definition]:
    """The files and the definition of the index at a path, which is one of these kinds.

    Raises NotAnIndex, NewerFormat, OlderFormat or Damaged.
    """
    files = around.files(path)
    try:
        content = files.read(DEFINITION)
    except (FileNotFoundError, NotADirectoryError):
        if is_there(files, SET):
            raise NotAnIndex(
                f"{path} is a set over time, and no index. Open it with TemporalSet.open of "
                "wavedex.temporal, or ask it with `wavedex temporal`."
            ) from None
        raise NotAnIndex(
            f"{path} is no index: it has no {DEFINITION}. Check the path, or create an index there "
            "with WaveIndex.create or LifetimeIndex.create."
        ) from None
    definition = read_definition(kinds, content, DEFINITION)
    return all_files(files, definition, around), definition


def _check_apart(own: AnyFiles, definition: Definition) -> None:
    """Raise BadDefinition where a root lies in the folder of the index, or the folder in a root."""
    if not own.is_local:
        return
    folder = Path(own.root).resolve()
    for root in definition.roots:
        other = Path(root).resolve()
        if folder == other or folder in other.parents or other in folder.parents:
            raise BadDefinition(
                f"The root {root} and the folder of the index, {own.root}, lie one in the other. "
                "Give roots elsewhere."
            )


def _check_free(files: AnyFiles) -> None:
    """Raise AlreadyExists where there is more than what a `create` that crashed has left."""
    try:
        there = set(files.list(""))
        begun = there <= {DATA, LOG, LOCK} and (LOCK in there or not files.is_local)
        is_leftover = begun and not files.list(DATA) and all(map(_is_of_create, files.list(LOG)))
    except NotADirectoryError:
        raise _taken(files) from None
    if there and not is_leftover:
        raise _taken(files)
    if isinstance(files, SpreadFiles) and (strange := files.strange()):
        raise AlreadyExists(
            f"There is something at {', '.join(strange)} already. Give roots that are new or empty."
        )


def _is_of_create(name: str) -> bool:
    """Whether `create` may have left a file of that name in the log when it crashed."""
    is_ours = names.is_draft(name) or names.is_manifest(name)
    return is_ours and names.commit_of(name) in (0, None)


def _taken(files: AnyFiles) -> AlreadyExists:
    return AlreadyExists(
        f"There is something at {files.root} already. Choose another path, or use wavedex.open "
        "if it is an index."
    )
