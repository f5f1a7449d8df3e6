"""Opens parts only once their files were found to be what was written.

This is for work that damage must not mislead. Copying rows from one file into another would give
damage a good checksum, and from then on nobody could find it. So a file's checksum is compared
before its rows are copied, when all of it is read anyway (as Lucene does when it merges). Files
that grow in place have no checksum. Their rows are hashed instead.

What was found good is remembered for as long as the opener lives. A writer's opener lives for one
share of a plan, a reader's for as long as its index is open.
"""

from __future__ import annotations

from collections.abc import Hashable

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles
from wavedex.rows.entries import EntrySpec
from wavedex.store.formats import open_shard
from wavedex.store.part import Part
from wavedex.store.shard import Shard

REMEMBERED_MAX = 1 << 16
"""How many parts are remembered; a part is some 200 bytes here."""


class CheckedParts:
    """Opens parts that are what was written.

    Several threads may use it. A part that is new to two of them is then looked at twice.
    """

    def __init__(self, *, answers: bool = False) -> None:
        """With `answers`, what finds the rows is looked at as well as the rows.

        Whoever only copies the rows does not need that.
        """
        self._answers = answers
        self._good: set[Hashable] = set()

    def open(self, files: AnyFiles, spec: EntrySpec, part: Part) -> Shard:
        """Open a part. Raises Damaged, and FileNotFoundError where it is gone."""
        opened = open_shard(files, spec, part)
        known = str(files.root), *part.all_files, part.content
        if known not in self._good:
            findings = opened.answer_findings() if self._answers else opened.source_findings()
            if findings:
                raise Damaged(findings)
            if len(self._good) >= REMEMBERED_MAX:
                self._good.clear()
            self._good.add(known)
        return opened
