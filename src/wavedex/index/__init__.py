"""What users hold: the wave index and its snapshots."""

from wavedex.index.appending import Appended
from wavedex.index.feeding import Fed
from wavedex.index.snapshot import Snapshot
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave import WaveIndex

__all__ = ["Appended", "Fed", "Snapshot", "Surroundings", "WaveIndex"]
