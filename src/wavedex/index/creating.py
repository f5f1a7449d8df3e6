"""How an index comes to be: folders, the first manifest, and last of all the definition, without which there is none.

A crash on the way leaves no index, and something that a second attempt may take for its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from wavedex.errors import AlreadyExists, BadDefinition, NotAnIndex
from wavedex.index.definition import Definition, read_definition
from wavedex.index.life_definition import LifeDefinition
from wavedex.index.roots import all_files
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave_definition import WaveDefinition
from wavedex.log import DATA, LOCK, LOG, Log, Manifest
from wavedex.store.access import AnyFiles
from wavedex.store.spread import SpreadFiles

DEFINITION = "index.json"
KINDS: tuple[type[Definition], ...] = (WaveDefinition, LifeDefinition)
"""The kinds of index that there are."""
_CREATED = re.compile(r"0{20}\.json|0{20}\..*\.tmp|index\.json\.tmp")
"""What `create` may leave in the log when it crashes."""


def create_at(
    path: str | os.PathLike[str], definition: Definition, around: Surroundings
) -> AnyFiles:
    """Make an empty index and return its files. Raises AlreadyExists and BadDefinition."""
    own = around.files(path)
    _check_apart(own, definition)
    files = all_files(own, definition, around)
    definition.check_place(files)
    _check_free(files)
    files.make_folder("")
    with files.lock(LOCK):
        _check_free(files)
        for folder in (DATA, LOG):
            files.make_folder(folder)
        if isinstance(files, SpreadFiles):
            files.mark()
        for leftover in files.list(LOG):
            files.remove(f"{LOG}/{leftover}")
        Log(files).commit(Manifest(0, "create", around.now().isoformat()), around.token())
        draft = f"{LOG}/{DEFINITION}.tmp"
        files.create(draft, lambda sink: sink.write(definition.to_bytes()))
        files.sync(draft)
        try:
            files.link(draft, DEFINITION)
        except FileExistsError:
            raise _taken(files) from None
        files.sync_folder("")
        files.sync_folder("..")
        files.remove(draft)
    return files


def open_at(path: str | os.PathLike[str], around: Surroundings) -> tuple[AnyFiles, Definition]:
    """The files and the definition of the index at a path. Raises NotAnIndex, NewerFormat, OlderFormat or Damaged."""
    files = around.files(path)
    try:
        content = files.read(DEFINITION)
    except (FileNotFoundError, NotADirectoryError):
        raise NotAnIndex(
            f"{path} is no index: it has no {DEFINITION}. Check the path, or create an index there "
            "with WaveIndex.create or LifetimeIndex.create."
        ) from None
    definition = read_definition(KINDS, content, DEFINITION)
    return all_files(files, definition, around), definition


def _check_apart(own: AnyFiles, definition: Definition) -> None:
    """Raise BadDefinition where a root lies in the folder of the index, or that in a root."""
    if not own.is_local:
        return
    folder = Path(own.root).resolve()
    for root in definition.roots:
        other = Path(root).resolve()
        if folder == other or folder in other.parents or other in folder.parents:
            raise BadDefinition(
                f"The root {root} and the folder of the index, {own.root}, lie one in the other. Give roots elsewhere."
            )


def _check_free(files: AnyFiles) -> None:
    """Raise AlreadyExists unless there is nothing, or only what a `create` that crashed has left."""
    try:
        there = set(files.list(""))
        begun = there <= {DATA, LOG, LOCK} and (LOCK in there or not files.is_local)
        is_leftover = (
            begun and not files.list(DATA) and all(map(_CREATED.fullmatch, files.list(LOG)))
        )
    except NotADirectoryError:
        raise _taken(files) from None
    if there and not is_leftover:
        raise _taken(files)
    if isinstance(files, SpreadFiles) and (strange := files.strange()):
        raise AlreadyExists(
            f"There is something at {', '.join(strange)} already. Give roots that are new or empty."
        )


def _taken(files: AnyFiles) -> AlreadyExists:
    return AlreadyExists(
        f"There is something at {files.root} already. Choose another path, or use wavedex.open "
        "if it is an index."
    )
