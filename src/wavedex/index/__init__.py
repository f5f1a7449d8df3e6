"""What users hold: the wave index and its snapshots."""

from wavedex.index.snapshot import Snapshot
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave import Appended, WaveIndex

__all__ = ["Appended", "Snapshot", "Surroundings", "WaveIndex"]
