"""Policy: which sub-index holds which slots, and which operations lead there.

Pure functions of slot numbers. Imports nothing of ours but `wavedex.errors`.
"""

from wavedex.plan.catalogue import SCHEMES, options_of, scheme
from wavedex.plan.fold import plan_fold
from wavedex.plan.grid import Grid, grid
from wavedex.plan.grid_state import GridState
from wavedex.plan.intervals import Intervals
from wavedex.plan.methods import METHODS, allowed, find_method
from wavedex.plan.operations import (
    Add,
    Amend,
    Build,
    Copy,
    Delete,
    Drop,
    Examine,
    Insert,
    Layout,
    Merge,
    Operation,
    Plan,
    Rename,
    apply,
    without,
)
from wavedex.plan.operations import from_json as operation_from_json
from wavedex.plan.operations import to_json as operation_to_json
from wavedex.plan.promise import Promise, cycle_of, promise
from wavedex.plan.sizes import SizeRatio, size_ratio
from wavedex.plan.state import WaveState
from wavedex.plan.table import grid_table, plan_table
from wavedex.plan.touched import Touched, touched
from wavedex.plan.wave import Scheme

__all__ = [
    "METHODS",
    "SCHEMES",
    "Add",
    "Amend",
    "Build",
    "Copy",
    "Delete",
    "Drop",
    "Examine",
    "Grid",
    "GridState",
    "Insert",
    "Intervals",
    "Layout",
    "Merge",
    "Operation",
    "Plan",
    "Promise",
    "Rename",
    "Scheme",
    "SizeRatio",
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
