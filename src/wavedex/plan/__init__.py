"""Policy: which sub-index holds which slots, and which operations lead there.

Pure functions of slot numbers. Imports nothing of ours but `wavedex.errors`.
"""

from wavedex.plan.catalogue import SCHEMES, options_of, scheme
from wavedex.plan.fold import plan_fold
from wavedex.plan.operations import (
    Add,
    Amend,
    Build,
    Copy,
    Delete,
    Drop,
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
from wavedex.plan.promise import Promise, promise
from wavedex.plan.sizes import SizeRatio, size_ratio
from wavedex.plan.state import WaveState
from wavedex.plan.table import plan_table
from wavedex.plan.wave import Scheme

__all__ = [
    "SCHEMES",
    "Add",
    "Amend",
    "Build",
    "Copy",
    "Delete",
    "Drop",
    "Layout",
    "Merge",
    "Operation",
    "Plan",
    "Promise",
    "Rename",
    "Scheme",
    "SizeRatio",
    "WaveState",
    "apply",
    "operation_from_json",
    "operation_to_json",
    "options_of",
    "plan_fold",
    "plan_table",
    "promise",
    "scheme",
    "size_ratio",
    "without",
]
