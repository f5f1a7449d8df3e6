"""The command `verify`: whether everything is as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wavedex.cli.options import Index
from wavedex.cli.output import Answer, working
from wavedex.errors import Damaged
from wavedex.index.kinds import kind_of
from wavedex.index.opening import open_index
from wavedex.show.words import human_bytes


def verify(index: Index) -> Iterator[Answer]:
    """Read every byte of the index and check every checksum and rule.

    The exit code is 1 where it is damaged.
    """
    try:
        idx = open_index(index)
        with working(f"Verifying {index}"):
            idx.verify()
    except Damaged as error:
        yield Answer({"ok": False, "findings": list(error.findings)}, "\n".join(error.findings))
        raise
    about = idx.describe()
    counts, said = kind_of(idx).counted(about)
    found = {
        **counts,
        "bytes": about["bytes"],
        "sub_indexes": len(about["sub_indexes"]),
        "commit": about["commit"],
    }
    yield Answer(
        {"ok": True, "findings": [], **found},
        f"ok: {said} in {found['sub_indexes']:,} sub-indexes, {human_bytes(found['bytes'])}, "
        f"commit {found['commit']:,}",
    )


COMMANDS: dict[Callable[..., Any], str] = {verify: "wavedex verify sales.wx"}
