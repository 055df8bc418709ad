"""What only a local disk has: kills between two system calls, full disks, permissions."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from forerun.include.machine.settings import SettingsError
from forerun.include.stores import open_store
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.opening import split_uri
from forerun.include.stores.store import (
    StoreDeniedError,
    StoreDownError,
    StoreError,
    StoreFullError,
)


def run_child(code: str, folder: Path, **options) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a process of its own, with ``store`` over ``folder``."""
    head = (
        "import os, pathlib, resource, signal\n"
        "from forerun.include.stores.file_store import FileStore\n"
        f"store = FileStore(pathlib.Path({str(folder)!r}))\n"
        "def die(*args, **kwargs): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code],
        capture_output=True, text=True, timeout=60, check=False, **options,
    )  # fmt: skip


KILLS = {
    "before the temporary file is written": "os.fdopen = die",
    "before it is flushed": "os.fsync = die",
    "before the link": "pathlib.Path.hardlink_to = die",
}


@pytest.mark.parametrize("where", KILLS)
def test_a_killed_put_leaves_nothing_that_blocks_or_is_read(tmp_path, where):
    child = run_child(f"{KILLS[where]}\nstore.put_if_absent('a/b', b'dead')", tmp_path)
    assert child.returncode == -signal.SIGKILL
    store = FileStore(tmp_path)
    assert store.find("a/b") is None
    assert store.list("a") == ()
    assert store.put_if_absent("a/b", b"alive")
    assert store.get("a/b") == b"alive"


def test_a_put_killed_after_its_link_has_won(tmp_path):
    child = run_child("pathlib.Path.unlink = die\nstore.put_if_absent('a/b', b'dead')", tmp_path)
    assert child.returncode == -signal.SIGKILL
    store = FileStore(tmp_path)
    assert not store.put_if_absent("a/b", b"late")
    assert store.get("a/b") == b"dead"
    assert [f.key for f in store.list("a")] == ["a/b"]


@pytest.mark.parametrize("reason", [errno.ESTALE, errno.EIO, errno.ENOTCONN])
def test_a_disk_that_goes_away_is_worth_a_retry(tmp_path, monkeypatch, reason):
    """What a mounted file system says when its server is gone."""

    def gone(*_arguments, **_options):
        raise OSError(reason, os.strerror(reason))

    store = FileStore(tmp_path)
    store.put("a/b", b"x")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", gone)
        with pytest.raises(StoreDownError, match="cannot read a/b"):
            store.get("a/b")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", gone)
        with pytest.raises(StoreDownError, match="cannot write a/c"):
            store.put_if_absent("a/c", b"y")
    assert [file.key for file in store.list("a")] == ["a/b"]
    assert store.put_if_absent("a/c", b"y")


def test_a_writer_killed_under_the_lock_does_not_block_the_next(tmp_path):
    store = FileStore(tmp_path)
    store.put("p", b"old")
    tag = store.find("p").tag
    child = run_child(
        f"pathlib.Path.replace = die\nstore.put_if_match('p', b'dead', {tag!r})", tmp_path
    )
    assert child.returncode == -signal.SIGKILL
    assert store.get("p") == b"old"
    assert store.put_if_match("p", b"new", tag)


def test_what_killed_writers_left_is_swept_when_it_is_old(tmp_path):
    run_child(f"{KILLS['before the link']}\nstore.put_if_absent('a/b', b'dead')", tmp_path)
    left = list(tmp_path.rglob(".forerun-tmp-*"))
    assert len(left) == 1
    store = FileStore(tmp_path)
    assert store.sweep(time.time() - 3600) == 0
    assert store.sweep(time.time() + 3600) == 1
    assert list(tmp_path.rglob(".forerun-tmp-*")) == []


def test_a_full_disk_is_an_error_and_nothing_half_written_is_seen(tmp_path):
    child = run_child(
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "store.put_if_absent('a/small', b'x')\n"
        "for put in (store.put, store.put_if_absent):\n"
        "    try: put('a/large', b'x' * 5000)\n"
        "    except Exception as error: print(type(error).__name__, error)\n",
        tmp_path,
    )
    assert child.stderr == ""
    lines = child.stdout.splitlines()
    assert lines[0].startswith("StoreFullError cannot write a/large: ")
    assert "Free space" in lines[1]
    assert lines[2].startswith("StoreFullError")
    store = FileStore(tmp_path)
    assert [f.key for f in store.list("a")] == ["a/small"]
    assert list(tmp_path.rglob(".forerun-tmp-*")) == []


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("a file system of one's own needs the right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_up(small_disk):
    store = FileStore(small_disk)
    store.put("first", b"x" * 40_000)
    with pytest.raises(StoreFullError, match="cannot write second"):
        store.put_if_absent("second", b"x" * 40_000)
    assert store.find("second") is None
    store.delete("first")
    assert store.put_if_absent("second", b"x" * 40_000)


def test_a_folder_without_permission(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:  # pytest's own folders are closed to others
        if parent.stat().st_uid == os.getuid() and parent.name.startswith("pytest-"):
            parent.chmod(0o755)
    drop = "os.setuid(65534)\n" if os.getuid() == 0 else ""
    child = run_child(
        drop + "try: store.put_if_absent('closed/a', b'x')\n"
        "except Exception as error: print(type(error).__name__, error)\n",
        tmp_path,
    )
    assert child.stdout.startswith("StoreDeniedError cannot write closed/a: "), child.stderr
    assert "Let this user write" in child.stdout


def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(tmp_path):
    (tmp_path / "a" / "closed").mkdir(parents=True)
    (tmp_path / "a" / "closed" / "data").write_bytes(b"x")
    (tmp_path / "a" / "closed").chmod(0o000)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent.name.startswith("pytest-"):
            parent.chmod(0o755)
    tmp_path.chmod(0o755)
    drop = "os.setuid(65534)\n" if os.getuid() == 0 else ""
    child = run_child(
        drop + "try: print(store.list('a'))\n"
        "except Exception as error: print(type(error).__name__, error)\n",
        tmp_path,
    )
    (tmp_path / "a" / "closed").chmod(0o700)
    assert child.stdout.startswith("StoreDeniedError cannot list a: "), child.stderr


def test_links_are_followed_once(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b").write_bytes(b"x")
    (tmp_path / "store" / "a").mkdir(parents=True)
    (tmp_path / "store" / "a" / "link").symlink_to(elsewhere)
    (tmp_path / "store" / "a" / "loop").symlink_to(tmp_path / "store")
    (tmp_path / "store" / "a" / "file").symlink_to(elsewhere / "b")
    (tmp_path / "store" / "a" / "dangling").symlink_to(tmp_path / "nothing")
    keys = [f.key for f in FileStore(tmp_path / "store").list("a")]
    assert keys == ["a/file", "a/link/b"]


def test_other_failures_name_the_key_too(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = FileStore(tmp_path)
    with pytest.raises(StoreError, match="cannot write file/below") as caught:
        store.put("file/below", b"x")
    assert not isinstance(caught.value, StoreDeniedError | StoreFullError)
    assert store.find("file/below") is None


def test_checksums_see_one_flipped_bit(tmp_path):
    store = FileStore(tmp_path)
    store.put("a", b"x" * 3_000_000)
    before = store.checksum("a")
    path = store.path("a")
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[2_000_000] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert store.stat("a").identity == str(status.st_mtime_ns)
    assert store.checksum("a") != before


@pytest.mark.parametrize("name", ["plain", "with space", "ümlaut", "per%20cent", "a#b?c"])
def test_the_root_is_a_uri_that_opens_the_same_folder(tmp_path, name):
    store = FileStore(tmp_path / name)
    store.put("a", b"x")
    assert open_store(store.root).get("a") == b"x"
    assert open_store(str(tmp_path / name)).root == store.root


def test_deleting_takes_empty_folders_along(tmp_path):
    store = FileStore(tmp_path)
    store.put("a/b/c", b"")
    store.put("a/d", b"")
    store.delete("a/b/c")
    assert store.folders("a") == ()
    assert store.list("a")[0].key == "a/d"
    assert tmp_path.is_dir()


def rights(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("access", "folder", "file"),
    [("private", 0o700, 0o600), ("group", 0o770, 0o660), ("umask", 0o755, 0o644)],
)
def test_who_may_read_what_is_written(tmp_path, monkeypatch, access, folder, file):
    monkeypatch.setenv("FORERUN_STORE_ACCESS", access)
    store = open_store(str(tmp_path / "above" / "store"))
    before = os.umask(0o022)
    try:
        store.put("a/put", b"1")
        store.put_if_absent("b/absent", b"2")
        store.put_if_match("b/absent", b"3", store.find("b/absent").tag)
        store.copy("a/put", "c/d/copied")
    finally:
        os.umask(before)
    root = tmp_path / "above" / "store"
    made = [path for path in root.rglob("*") if not path.name.startswith(".forerun-lock")]
    assert {rights(path) for path in (root, *made) if path.is_dir()} == {folder}
    assert {rights(path) for path in made if path.is_file()} == {file}
    assert rights(tmp_path / "above") == 0o755  # not a part of the store
    for lock in root.rglob(".forerun-lock*"):
        assert rights(lock) & 0o007 <= file & 0o007


def test_private_is_the_default_and_other_words_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("FORERUN_STORE_ACCESS", raising=False)
    open_store(str(tmp_path / "store")).put("key", b"")
    assert rights(tmp_path / "store" / "key") == 0o600
    monkeypatch.setenv("FORERUN_STORE_ACCESS", "public")
    with pytest.raises(SettingsError, match="FORERUN_STORE_ACCESS is 'public'"):
        open_store(str(tmp_path / "store"))


@pytest.mark.parametrize(
    "uri",
    [
        "s3:?u:SECRET@b/p", "s3a:?SECRET@b", "s3:?u:SEC/RET@b/p", "u:SECRET@b/p", "?u:SECRET@b",
        "?SECRET@b/p", "file:?u:SECRET@h/p", "https:?u:SECRET@h/p", "s3:u:SECRET@b/p",
    ],
)  # fmt: skip
def test_a_uri_with_a_password_is_refused_without_saying_it(uri):
    with pytest.raises(StoreError, match="holds credentials") as caught:
        open_store(uri.replace("?", "//"))
    assert "SEC" not in caught.value.message
    assert "RET" not in caught.value.message


@pytest.mark.parametrize("path", ["/data/a@b", "a@b/c", "/data/a:x@b", "x/u:v@w"])
def test_a_folder_may_have_an_at_sign_in_its_name(path):
    assert open_store(path).root.endswith(path.removeprefix("/"))


def test_a_folder_may_go_while_the_store_is_swept(tmp_path):
    """Two clean-ups at once: each takes folders away that the other one is looking into."""
    store = FileStore(tmp_path)
    stop = threading.Event()

    def come_and_go():
        number = 0
        while not stop.is_set():
            number += 1
            store.put(f"a/{number % 7}/b/c{number}", b"x")
            store.delete(f"a/{number % 7}/b/c{number}")

    others = [threading.Thread(target=come_and_go) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for _ in range(300):
            assert store.sweep(time.time() - 3600) == 0
    finally:
        stop.set()
        for other in others:
            other.join()


def test_a_store_with_a_backslash_is_refused(tmp_path):
    for uri in (f"{tmp_path}/a\\b", f"file://{tmp_path}/a\\b", "s3://bucket/a\\b"):
        with pytest.raises(StoreError, match="backslash"):
            open_store(uri)


ROOTS = ("/s", "/reports", "/a/reports/x", "s3://b/reports/reports", "/r/reports/2026-01-01")


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("report", ["reports", "totals"])
def test_a_report_may_be_named_like_a_folder_of_the_store(root, report):
    key = f"reports/{report}/2026-01-01/1/plans/run-1-a.json"
    assert split_uri(f"{root}/{key}") == (root, key)
