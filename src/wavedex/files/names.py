"""The names of all files of an index: made here, and told here from names that are not ours.

A folder may come from somebody else. So a manifest names only files of the pattern that we make, in
folders that we use. Vacuum removes nothing else. No name leads out of its folder, whoever wrote it.
Opens no file.
"""

from __future__ import annotations

import re

from wavedex.errors import NotOurs

LOG = "log"
DATA = "data"
LOCK = "lock"
STAGED = "staged"
DEFINITION = "index.json"
SET = "set.json"
"""The definition of a set over time."""
ABOVE = ".."
"""The folder above the root, which has the name of the root in it. It is only ever synced."""

_TAIL = r"(?:[._-][\w.-]*)?"
"""What a store or package adds to the stem of its part."""
_DATA_FILE = re.compile(r"\d{10,}(?:-[0-9a-f]+){1,4}" + _TAIL, re.ASCII)
_STAGED_FILE = re.compile(r"[0-9a-f]{16}(?:-[0-9a-f]+){3}" + _TAIL, re.ASCII)
_PART = re.compile(
    rf"{DATA}(?:@\d+)?/{_DATA_FILE.pattern}|{STAGED}/{_STAGED_FILE.pattern}", re.ASCII
)
_MANIFEST = re.compile(r"\d{20}\.json", re.ASCII)
_FOLLOWER = re.compile(r"(\d{20})\.([A-Za-z0-9][A-Za-z0-9_-]*)\.(follows|begins)", re.ASCII)
_DRAFT = re.compile(r"\d{20}\.[0-9a-f]+\.tmp|(?:index|set)\.json\.[0-9a-f]+\.tmp", re.ASCII)


def stem_prefix(commit: int, token: str) -> str:
    """How the names of the data files of one attempt at a commit begin."""
    return f"{commit:010d}-{token}"


def data_stem(commit: int, token: str, shard: int, number: int) -> str:
    """How the names of the files of one new part begin.

    A task of Spark's has its attempt in `token`, behind a `-`.
    """
    return f"{stem_prefix(commit, token)}-{shard:05d}-{number}"


def ledger_stem(commit: int, token: str) -> str:
    """How the name of a commit's segment of the ledger begins."""
    return f"{DATA}/{stem_prefix(commit, token)}-ledger"


def told_name(commit: int, token: str) -> str:
    """The file of the rows of which the parts of a commit do not tell."""
    return f"{DATA}/{stem_prefix(commit, token)}-0.told"


def brought_stem(stem: str, shard: int) -> str:
    """How the names of the files of a part from a task begin. `stem` is that of the task."""
    return f"{stem}-{shard:05d}"


def staged_prefix(token: str) -> str:
    """How the names of the files staged by the tasks of one write begin.

    REQUIRES: `token` is 16 hexadecimal digits.
    """
    return f"{STAGED}/{token}-"


def staged_stem(prefix: str, attempt: int, token: str) -> str:
    """The stem of a task that stages, by its attempt."""
    return f"{prefix}{attempt:x}-{token}"


def manifest_name(commit: int) -> str:
    """The file of a commit."""
    return f"{LOG}/{commit:020d}.json"


def draft_name(commit: int, token: str) -> str:
    """The file in which a manifest is written before it gets its name."""
    return f"{LOG}/{commit:020d}.{token}.tmp"


def definition_draft(token: str, name: str = DEFINITION) -> str:
    """The file in which a definition is written before it gets its name."""
    return f"{LOG}/{name}.{token}.tmp"


def set_file(commit: int, token: str, sort: str) -> str:
    """A file of a set over time: all that it keeps, or some changes."""
    return f"{DATA}/{stem_prefix(commit, token)}-0.{sort}"


def follower_name(name: str, commit: int, has_read: bool) -> str:
    """The file of a follower that has read up to a commit, or begins with it."""
    return f"{LOG}/{commit:020d}.{name}.{'follows' if has_read else 'begins'}"


def follower_of(base: str) -> tuple[str, int, bool] | None:
    """What the name of a follower's file in the log says; None for other names."""
    found = _FOLLOWER.fullmatch(base)
    return None if found is None else (found[2], int(found[1]), found[3] == "follows")


def folder_of(name: str) -> str:
    """The folder in which a file lies."""
    return name.rpartition("/")[0]


def base_of(name: str) -> str:
    """The name of a file without its folder."""
    return name.rpartition("/")[2]


def commit_of(base: str) -> int | None:
    """The commit for which a data file, a draft or a manifest was written; None for other names."""
    known = _DATA_FILE.fullmatch(base) or _DRAFT.fullmatch(base) or _MANIFEST.fullmatch(base)
    number = re.match(r"\d+", base) if known else None
    return None if number is None else int(number[0])


def is_manifest(base: str) -> bool:
    """Whether a name in the log is that of a manifest."""
    return _MANIFEST.fullmatch(base) is not None


def is_draft(base: str) -> bool:
    """Whether a name in the log is that of a draft of ours."""
    return _DRAFT.fullmatch(base) is not None


def is_part_file(name: str) -> bool:
    """Whether a name, with its folder, is one that we give to a file of a part."""
    return _PART.fullmatch(name) is not None


def check_part_file(name: object) -> str:
    """The name of a part's file, from a manifest. Raises NotOurs where we make no such name."""
    if not isinstance(name, str) or not is_part_file(name):
        raise NotOurs(
            f"A manifest names the file {name!r}, and Wavedex gives no file such a name. "
            "Somebody else made this folder or changed it: restore it from a copy of your own, "
            "or build the index anew from its source."
        )
    return name


def check_inside(name: str) -> None:
    """Raise NotOurs where a name could lead out of the folder below which it is looked for."""
    if not name:
        return
    if "\0" in name or "\\" in name or not {"", ".", ABOVE}.isdisjoint(name.split("/")):
        raise NotOurs(
            f"The name {name!r} leads out of its folder, or could. "
            "Give a relative name without '..', empty parts and backslashes."
        )
