import pytest
from typer.testing import CliRunner

import wavedex as wx
from kit.cli_sales import SCHEMA, slot_of, table_of
from wavedex.cli import app


@pytest.fixture
def empty(tmp_path):
    """A window of five days in three sub-indexes, with nothing in it."""
    path = tmp_path / "sales.wx"
    wx.WaveIndex.create(path, SCHEMA, key="user", time="at", window=5, indexes=3, scheme="wata")
    return path


@pytest.fixture
def filled(empty):
    """The same after seven days, to be written to."""
    idx = wx.open(empty)
    for day in range(1, 8):
        idx.append(table_of(day))
    return empty


@pytest.fixture(scope="session")
def sales(tmp_path_factory):
    """The window of January 3 to 7; January 2 has expired and is still held. Only to be read."""
    path = tmp_path_factory.mktemp("sales") / "sales.wx"
    idx = wx.WaveIndex.create(
        path, SCHEMA, key="user", time="at", window=5, indexes=3, scheme="wata"
    )
    for day in range(1, 8):
        idx.append(table_of(day))
    assert idx.slots == [slot_of(day) for day in range(3, 8)]
    return path


@pytest.fixture
def run():
    """Run the command in this process: `run("probe", path, "ann")`."""

    def invoke(*args, **env):
        return CliRunner(env={"COLUMNS": None, "NO_COLOR": "1", **env}).invoke(
            app, [str(arg) for arg in args], prog_name="wavedex"
        )

    return invoke
