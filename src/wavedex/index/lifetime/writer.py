"""The writer of a lifetime index."""

from __future__ import annotations

from wavedex.engine.base import Drafted
from wavedex.engine.change import Change
from wavedex.index.core.writer import Writer
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.log.manifest import Manifest
from wavedex.plan import Build


class LifeWriter(Writer[LifeDefinition]):
    """A writer that does not count the rows of slots: several sub-indexes may have rows of one."""

    def _plan_rows(self, manifest: Manifest, change: Change, drafted: Drafted) -> int:
        """How many rows a change should write.

        These are the rows that arrive. Where sub-indexes are reclustered, they are also all rows of
        those that are touched and not thrown away.
        """
        written = sum(change.rows.counts.values())
        if self.definition.grid.reclusters:
            touched = {operation.target for operation in change.operations} & {*manifest.indexes}
            thrown = {each.target for each in change.operations if isinstance(each, Build)}
            written += sum(manifest.indexes[name].rows for name in touched - thrown)
        return written
