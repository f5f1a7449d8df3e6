"""What users hold: the wave index, the lifetime index and their snapshots."""

from wavedex.index.appending import Appended
from wavedex.index.feeding import Fed
from wavedex.index.life_snapshot import LifeSnapshot
from wavedex.index.lifetime import LifetimeIndex
from wavedex.index.refreshing import Refreshed
from wavedex.index.retracting import Retracted
from wavedex.index.snapshot import Snapshot
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave import WaveIndex

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
]
