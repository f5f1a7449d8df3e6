"""What users hold: the wave index, the lifetime index and their snapshots."""

from wavedex.index.core.surroundings import Surroundings
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.lifetime.retraction import Retracted, matching
from wavedex.index.lifetime.snapshot import LifeSnapshot
from wavedex.index.reading.snapshot import Snapshot
from wavedex.index.wave.append import Appended
from wavedex.index.wave.feed import Fed
from wavedex.index.wave.index import WaveIndex

__all__ = [
    "Appended",
    "Fed",
    "LifeSnapshot",
    "LifetimeIndex",
    "Refreshed",
    "Retracted",
    "Snapshot",
    "Surroundings",
    "WaveIndex",
    "matching",
]
