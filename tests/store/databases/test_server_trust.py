"""A server that only the files of an index name is not connected to.

And no password stands in them.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import socket
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
import xxhash

import wavedex as wx
from kit import hostile
from kit.postgresql_server import missing
from wavedex import errors
from wavedex.store.databases import server_address
from wavedex.store.databases.server_address import Address, Trust
from wavedex.testing.package_rows import SCHEMA, rows_of, table
from wavedex.testing.package_trials import create

pytest.importorskip("adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed")
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

SECRET = "hunter2"


@pytest.fixture
def a_new_process(monkeypatch):
    """What a process knows that has just begun."""
    monkeypatch.delenv(server_address.VARIABLE, raising=False)
    return lambda: monkeypatch.setattr(server_address, "_ASKED_FOR", set())


@pytest.fixture
def evil():
    """Where a server would listen, and who has come there; everybody is sent away."""
    come: list[socket.socket] = []

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                come.append(listening.accept()[0])
                come[-1].close()

    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/.s.PGSQL.5432")
        listening.listen()
        listener = threading.Thread(target=listen)
        listener.start()
        yield f"postgresql:///sales?host={folder}", come
        listening.shutdown(socket.SHUT_RDWR)
        listener.join()


def forge(path: Path, **changed: object) -> None:
    file = path / "index.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
    checksum = xxhash.xxh64_hexdigest(file.read_bytes())
    hostile.forge(path, lambda body: body.update(definition=checksum))


def forge_marker(path: Path, marker: Path, text: str) -> None:
    """Write something else into a marker, as if it had been written so."""
    marker.write_text(text)
    checksum = xxhash.xxh64_hexdigest(text.encode())

    def change(body: dict[str, Any]) -> None:
        for mention in hostile.named_files(body):
            if mention["name"].endswith(marker.name):
                mention.update(checksum=checksum, bytes=len(text))

    hostile.forge(path, change)


def test_an_index_that_names_a_server_is_opened_and_described_without_it(
    tmp_path, server, a_new_process
):
    create(tmp_path / "x", server.uri, "wata", "runs").append(table(rows_of(1)))
    a_new_process()
    index = wx.open(tmp_path / "x")
    place = index.describe()["format"]
    assert index.commits == [0, 1]
    for use in (
        lambda: index.probe(3),
        lambda: index.scan(),
        lambda: index.verify(),
        lambda: index.append(table(rows_of(2))),
        lambda: index.erase([3]),
        lambda: index.migrate(window=5),
        lambda: index.vacuum(),
        lambda: index.prepare(),
    ):
        with pytest.raises(errors.ServerNotTrusted) as refusal:
            use()
        assert f"wavedex.trust_server({place!r})" in str(refusal.value)
        assert f"WAVEDEX_SERVERS='{place}'" in str(refusal.value)


def test_who_names_the_address_again_may_use_it(tmp_path, server, a_new_process, monkeypatch):
    create(tmp_path / "x", server.uri, "wata", "runs").append(table(rows_of(1)))
    index = wx.open(tmp_path / "x")
    place = index.describe()["format"]
    for said in (place, server.uri):
        a_new_process()
        wx.trust_server(said)
        index.verify()
        a_new_process()
        monkeypatch.setenv(server_address.VARIABLE, f"postgresql:///other\n{said} ")
        index.verify()
        monkeypatch.delenv(server_address.VARIABLE)
    wx.trust_server(f"{server.uri}#another")
    with pytest.raises(errors.ServerNotTrusted):
        wx.open(tmp_path / "x").verify()


def test_no_connection_is_made_to_a_server_that_a_stranger_wrote_into_a_folder(
    tmp_path, evil, a_new_process
):
    address, come = evil
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=3)
    for slot in range(1, 5):
        index.append(table(rows_of(slot)))
    rows = index.scan().read_all().num_rows
    a_new_process()
    forge(tmp_path / "x", file_format=f"{address}#public")
    index = wx.open(tmp_path / "x")
    assert index.describe()["commit"] == 4
    assert index.scan().read_all().num_rows == rows
    index.verify()
    for write in (lambda: index.append(table(rows_of(5))), lambda: index.vacuum()):
        with pytest.raises(errors.ServerNotTrusted):
            write()
    forge(tmp_path / "x", file_format="arrow", former_formats=[f"{address}#public"])
    index = wx.open(tmp_path / "x")
    index.append(table(rows_of(5)))
    index.vacuum()
    with pytest.raises(errors.ServerNotTrusted):
        index.erase([3])
    assert not come
    wx.trust_server(address)
    with pytest.raises(errors.EraseUnfinished):
        index.erase([3])
    assert come


def test_no_connection_is_made_to_a_server_that_a_stranger_wrote_into_a_part(
    tmp_path, server, evil, a_new_process
):
    address, come = evil
    index = create(tmp_path / "x", server.uri, "wata", "runs", shards=1)
    index.append(table(rows_of(1)))
    marker = Path(index.files()[0])
    good = marker.read_text()
    del index
    marker.write_text(good.replace(json.loads(good)["server"], address))
    with pytest.raises(errors.Damaged):  # It is not what was written.
        wx.open(tmp_path / "x").probe(3)
    forge_marker(tmp_path / "x", marker, json.dumps({**json.loads(good), "server": address}))
    with pytest.raises(errors.ServerNotTrusted):
        wx.open(tmp_path / "x").probe(3)
    assert not come


@pytest.mark.parametrize(
    "forged",
    [
        {"table": "payroll"},
        {"table": 'x"; drop table payroll; --'},
        {"schema": "a'b"},
        {"server": "host=evil"},
        {"server": f"postgresql://ann:{SECRET}@evil/x"},
    ],
)
def test_a_part_stands_for_no_table_but_its_own(tmp_path, server, forged):
    index = create(tmp_path / "x", server.uri, "wata", "runs", shards=1)
    index.append(table(rows_of(1)))
    marker = Path(index.files()[0])
    said = json.loads(marker.read_text())
    del index
    forge_marker(tmp_path / "x", marker, json.dumps({**said, **forged}))
    with pytest.raises((errors.Damaged, errors.NotOurs)) as refusal:
        wx.open(tmp_path / "x").probe(3)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@host/sales",
        f"postgresql://ann:@host/sales?password={SECRET}",
        f"postgresql:///sales?password={SECRET}",
        f"postgresql:///sales?pass%77ord={SECRET}",
        f"postgresql:///sales?PASSWORD={SECRET}",
        f"postgresql:///sales?sslpassword={SECRET}",
        f"postgresql:///sales#x?password={SECRET}",
        f"postgresql://ann:{SECRET}\u2100@host/sales",
        f"postgresql://[ann:{SECRET}@host/sales",
        f"postgresql:host=x password={SECRET}",
        f"postgres://ann:{SECRET}@host/sales",
    ],
)
def test_an_address_with_a_password_is_refused_and_never_repeated(tmp_path, address):
    for use in (
        lambda: create(tmp_path / "x", address, "wata", "runs"),
        lambda: wx.trust_server(address),
    ):
        with pytest.raises(errors.BadDefinition) as refusal:
            use()
        assert SECRET not in str(refusal.value)
    assert not (tmp_path / "x").exists()
    wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=3)
    forge(tmp_path / "x", file_format=address)
    with pytest.raises(errors.Damaged) as found:
        wx.open(tmp_path / "x")
    assert SECRET not in str(found.value)


def test_a_password_file_is_used_and_never_copied(tmp_path, server, monkeypatch):
    secret = tmp_path / "pgpass"
    secret.write_text(f"*:*:*:*:{SECRET}\n")
    secret.chmod(stat.S_IRUSR)
    monkeypatch.setenv("PGPASSFILE", str(secret))
    index = create(tmp_path / "x", f"{server.uri}&passfile={secret}", "wata", "in-place")
    index.append(table(rows_of(1)))
    index.verify()
    kept = [file for file in (tmp_path / "x").rglob("*") if file.is_file()]
    assert len(kept) > 3
    assert not any(SECRET.encode() in file.read_bytes() for file in kept)
    assert SECRET not in json.dumps(index.describe())


def test_what_to_type_is_safe_to_type(a_new_process):
    a_new_process()
    with pytest.raises(errors.ServerNotTrusted, match=r"WAVEDEX_SERVERS='.*'\"'\"'.*'\.$"):
        Address.parse("postgresql:///x';touch${IFS}y;'#s").check_trusted()
    with pytest.raises(errors.BadDefinition):
        Address.parse("postgresql:///x\x1b[2J")


def test_a_task_that_is_sent_somewhere_takes_the_trust_of_its_sender_along(a_new_process):
    a_new_process()
    wx.trust_server("postgresql:///sales")
    sent = pickle.dumps(Trust.mine())
    a_new_process()
    address = Address("postgresql:///sales", "x")
    assert not address.is_trusted
    pickle.loads(sent).extend()
    assert address.is_trusted
