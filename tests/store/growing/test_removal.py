"""A large file loses its name at once and its room soon after, whatever the system refuses."""

from __future__ import annotations

import _thread
import os
import threading
from _thread import start_new_thread

import pytest

from wavedex.files import local as files_module
from wavedex.files.local import Files


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "LARGE_BYTES", 10)
    return Files(tmp_path)


def fill(files, size=100):
    files.create("x", lambda sink: sink.write(bytes(size)))


@pytest.mark.parametrize("size", [1, 100])
def test_a_removed_file_is_gone_when_the_call_returns_and_no_descriptor_stays(
    files, tmp_path, monkeypatch, size
):
    begun, over = [], threading.Semaphore(0)

    def start(call, arguments):
        begun.append(call)
        start_new_thread(lambda: (call(*arguments), over.release()), ())

    monkeypatch.setattr(_thread, "start_new_thread", start)
    fill(files, size)
    before = len(os.listdir("/proc/self/fd"))
    files.remove("x")
    assert not (tmp_path / "x").exists()
    assert len(begun) == (size > 10)
    for _ in begun:
        over.acquire()
    assert len(os.listdir("/proc/self/fd")) == before
    files.remove("x")


def test_a_large_file_is_removed_where_it_cannot_be_opened_or_no_thread_can_be_had(
    files, tmp_path, monkeypatch
):
    def refuse(*_, **__):
        raise OSError("too many open files")

    fill(files)
    with monkeypatch.context() as patched:
        patched.setattr(files_module.os, "open", refuse)
        files.remove("x")
    assert not (tmp_path / "x").exists()

    def no_thread(*_, **__):
        raise RuntimeError("can't start new thread")

    fill(files)
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", no_thread)
        files.remove("x")
    assert not (tmp_path / "x").exists()
    assert len(os.listdir("/proc/self/fd")) == before
