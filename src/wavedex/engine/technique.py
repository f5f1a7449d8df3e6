"""What an update technique is: how a draft becomes parts on disk (Section 2.1).

Techniques know formats and drafts, and no scheme. `wavedex.engine.techniques` has them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.rows.entries import EntrySpec
from wavedex.store.package import Format
from wavedex.store.part import Part, Slots

if TYPE_CHECKING:
    from wavedex.engine.workbench import Workbench


class Technique(Protocol):
    """How drafts become parts."""

    @property
    def name(self) -> str:
        """What it is called in a definition."""

    @property
    def writes_into_files(self) -> bool:
        """Whether it ever writes into a file that is there, seen by readers or not."""

    @property
    def changes_files(self) -> bool:
        """Whether it writes to files that readers use, who must then say which commit they hold."""

    @property
    def defers_merges(self) -> bool:
        """Whether sub-indexes are left in several parts, to be merged in preparation."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that its parts may have."""

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        """Raise BadDefinition if entries like these cannot be kept this way."""

    def writes(self, draft: Draft, bench: Workbench) -> bool:
        """Whether anything has to be written to settle the draft."""

    def settle(self, draft: Draft, bench: Workbench) -> tuple[Part, ...]:
        """Write what the draft needs and return its parts."""

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Workbench) -> Part:
        """Write rows of some slots as one new part. REQUIRES: at least one row."""
