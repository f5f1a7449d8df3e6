"""Who may know whom: what importing brings along, and what planners may import."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex

SOURCE = Path(wavedex.__file__).parent
HEAVY = ["obstore", "pyspark", "numba", "pandas", "polars", "duckdb", "typer", "rich"]


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_importing_wavedex_imports_nothing_heavy():
    assert not modules_after("import wavedex") & set(HEAVY)


@pytest.mark.slow
def test_using_an_index_imports_neither_spark_nor_numba_nor_polars(tmp_path):
    code = f"""
import pyarrow as pa, wavedex as wx
schema = pa.schema([("k", pa.int64()), ("t", pa.int64())])
for update in ("in-place", "simple-shadow", "packed-shadow", "runs"):
    idx = wx.WaveIndex.create({str(tmp_path)!r} + "/" + update, schema, key="k", time="t", slot=1,
                              window=3, indexes=2, update=update)
    for slot in range(5):
        idx.append(pa.table({{"k": pa.array([1, 2]), "t": pa.array([slot, slot])}}))
    idx.verify()
    assert idx.probe(1).num_rows == 3
"""
    # Arrow itself looks for pandas when it makes an array, so pandas is not asked about here.
    assert not modules_after(code) & {"pyspark", "numba", "polars"}


def test_a_local_index_imports_no_other_file_systems(tmp_path):
    code = f"""
import pyarrow as pa, wavedex as wx
schema = pa.schema([("k", pa.int64())])
wx.WaveIndex.create({str(tmp_path)!r} + "/x", schema, key="k", window=3)
wx.open("file://" + {str(tmp_path)!r} + "/x").probe(1)
"""
    assert "pyarrow.fs" not in modules_after(code)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "imported"), [("arrow", set()), ("parquet", {"pyarrow.parquet"})])
def test_parquet_is_imported_only_to_read_an_index_that_is_kept_in_it(tmp_path, form, imported):
    schema = pa.schema([("k", pa.int64()), ("v", pa.dictionary(pa.int32(), pa.string()))])
    index = wavedex.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, format=form)
    values = pa.array(["a", "b"]).dictionary_encode()
    index.append(pa.table([pa.array([1, 2]), values], schema=schema), slot=1)
    code = f"""
import wavedex as wx
idx = wx.open({str(tmp_path / "x")!r})
assert idx.probe(1).num_rows == idx.probe_range(2, 9).num_rows == 1
assert idx.scan(1, columns=["v"]).read_all().num_rows == 2
"""
    assert modules_after(code) & {"pandas", "pyarrow.parquet"} == imported
    assert "pyarrow.parquet" not in modules_after("import wavedex")


@pytest.mark.slow
def test_neither_writing_nor_reading_imports_pandas_by_the_back_door(tmp_path):
    # Arrow looks for pandas when it makes an array of Python's values or of NumPy's, so the rows
    # come from a file.
    rows = pa.table(
        {
            "k": [1, 2, 2],
            "t": [5, 5, 5],
            "flag": [True, None, False],
            "text": ["a", None, "a"],
        }
    )
    with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema) as sink:
        sink.write_table(rows)
    code = f"""
import pyarrow as pa, wavedex as wx
rows = pa.ipc.open_file({str(tmp_path / "rows.arrow")!r}).read_all()
for update in ("in-place", "runs"):
    idx = wx.WaveIndex.create({str(tmp_path)!r} + "/" + update, rows.schema, key="k", time="t",
                              slot=1, window=3, indexes=2, update=update)
    idx.append(rows)
    assert idx.probe_many([1, 2]).num_rows == idx.scan(dictionaries=True).read_all().num_rows == 3
"""
    assert "pandas" not in modules_after(code)
    assert "pyarrow.compute" not in modules_after("import wavedex")


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize(
    "path", sorted((SOURCE / "plan").rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_planners_import_the_standard_library_our_errors_and_each_other(path):
    allowed = ("wavedex.plan", "wavedex.errors")
    others = {name for name in imports_of(path) if not name.startswith(allowed)}
    assert {name for name in others if name.split(".")[0] not in sys.stdlib_module_names} == set()


def test_importing_the_planners_alone_reads_no_arrow_and_no_numpy():
    # The package's own __init__ ties everything together, so its parents are kept out of the way.
    code = f"""
import sys, types
package = types.ModuleType("wavedex")
package.__path__ = [{str(SOURCE)!r}]
sys.modules["wavedex"] = package
import wavedex.plan
"""
    loaded = modules_after(code)
    assert not {name for name in loaded if name.split(".")[0] in {"numpy", "pyarrow", *HEAVY}}
    ours = {name for name in loaded if name.startswith("wavedex.")}
    assert {
        name for name in ours if not name.startswith(("wavedex.plan", "wavedex.errors"))
    } == set()


@pytest.mark.parametrize("package", ["store", "engine", "index"])
def test_stores_know_no_plan_and_nothing_below_the_index_knows_the_index(package):
    forbidden = {
        "store": ("wavedex.plan", "wavedex.engine", "wavedex.index", "wavedex.log.journal"),
        "engine": ("wavedex.index", "wavedex.cli"),
        "index": ("wavedex.cli", "pyspark", "pandas", "polars", "numba"),
    }[package]
    for path in (SOURCE / package).rglob("*.py"):
        wrong = {name for name in imports_of(path) if name.startswith(forbidden)}
        wrong -= {"wavedex.plan.slot_set"}  # What a set of slots is, all must know.
        assert not wrong, f"{path} imports {wrong}"


def test_the_oracle_imports_none_of_the_code_that_it_judges():
    assert not {name for name in imports_of(SOURCE / "testing/oracle.py") if "wavedex" in name}
