"""Policy: which sub-index holds which slots, and which operations lead there.

Pure functions of slot numbers. Imports nothing of ours but `wavedex.errors`.
"""

from wavedex.plan.fold import plan_fold
from wavedex.plan.grids.grid import Grid, grid
from wavedex.plan.grids.intervals import Intervals
from wavedex.plan.grids.methods import METHODS, allowed, find_method
from wavedex.plan.grids.state import GridState
from wavedex.plan.grids.touched import Touched, touched
from wavedex.plan.operations import (
    Add,
    Amend,
    Build,
    Copy,
    Delete,
    Drop,
    Erase,
    Examine,
    Hide,
    Insert,
    Layout,
    Merge,
    Operation,
    Plan,
    Rename,
    Sift,
    apply,
    without,
)
from wavedex.plan.operations import from_json as operation_from_json
from wavedex.plan.operations import to_json as operation_to_json
from wavedex.plan.promise import Promise, cycle_of, promise
from wavedex.plan.state import State, WaveState
from wavedex.plan.table import grid_table, plan_table
from wavedex.plan.waves.catalogue import SCHEMES, options_of, scheme
from wavedex.plan.waves.sizes import SizeRatio, size_ratio
from wavedex.plan.waves.wave import Scheme

__all__ = [
    "METHODS",
    "SCHEMES",
    "Add",
    "Amend",
    "Build",
    "Copy",
    "Delete",
    "Drop",
    "Erase",
    "Examine",
    "Grid",
    "GridState",
    "Hide",
    "Insert",
    "Intervals",
    "Layout",
    "Merge",
    "Operation",
    "Plan",
    "Promise",
    "Rename",
    "Scheme",
    "Sift",
    "SizeRatio",
    "State",
    "Touched",
    "WaveState",
    "allowed",
    "apply",
    "cycle_of",
    "find_method",
    "grid",
    "grid_table",
    "operation_from_json",
    "operation_to_json",
    "options_of",
    "plan_fold",
    "plan_table",
    "promise",
    "scheme",
    "size_ratio",
    "touched",
    "without",
]
