from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis.store import LocalStore, open_store
from tracemill_schema.errors import StoreError


def test_an_object_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    with store.open_output("a/b.bin") as output:
        output.write(b"half")
        assert not store.exists("a/b.bin")
        assert store.list_objects("") == []
    assert store.read_bytes("a/b.bin") == b"half"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b.bin"]


def test_a_failed_write_keeps_the_old_object_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write_bytes("k", b"old")
    with pytest.raises(RuntimeError), store.open_output("k") as output:
        output.write(b"new")
        raise RuntimeError
    assert store.read_bytes("k") == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_objects_are_listed_with_size_by_key(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for key in ("t/b/2", "t/a/1", "u/3"):
        store.write_bytes(key, b"xyz")
    assert [(o.key, o.size_bytes) for o in store.list_objects("t/")] == [("t/a/1", 3), ("t/b/2", 3)]
    assert store.list_folders("t/") == ["a", "b"]
    assert store.list_objects("nothing/") == []


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/passwd"])
def test_no_key_leads_outside(tmp_path: Path, key: str) -> None:
    store = LocalStore(tmp_path / "store")
    with pytest.raises(StoreError, match="outside the store"):
        store.read_bytes(key)


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    store = LocalStore(tmp_path / "store")
    store.root.mkdir()
    (store.root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(StoreError, match="outside the store"):
        store.read_bytes("link")


def test_jobs_are_found_by_listing_recorded_and_processed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write_bytes("raw/job_name=b/node=n/process=1-2/000000.tmraw", b"")
    store.write_bytes("jobs/job_name=a/manifest.json", b"{}")
    store.write_bytes("jobs/other/manifest.json", b"{}")
    assert store.job_names() == ["a", "b"]


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(StoreError, match="a folder is needed"):
        open_store(tmp_path / "f")


def test_an_unwritable_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    store = LocalStore(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        store.write_bytes("f/x", b"")
