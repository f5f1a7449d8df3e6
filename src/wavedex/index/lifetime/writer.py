"""The writer of a lifetime index."""

from __future__ import annotations

from collections.abc import Sequence

from wavedex.index.core.arrival import Arriving
from wavedex.index.core.writer import Writer
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.log.journal import Manifest
from wavedex.plan import Build, Operation


class LifeWriter(Writer[LifeDefinition]):
    """A writer that does not count the rows of slots, of which several sub-indexes have some."""

    def _plan_rows(
        self, operations: Sequence[Operation], manifest: Manifest, rows: Arriving
    ) -> int:
        """What arrives, and with it, where sub-indexes are reclustered, all of those that are touched and not thrown away."""
        written = rows.rows
        if self.definition.grid.reclusters:
            touched = {operation.target for operation in operations} & {*manifest.indexes}
            thrown = {each.target for each in operations if isinstance(each, Build)}
            written += sum(manifest.indexes[name].rows for name in touched - thrown)
        return written
