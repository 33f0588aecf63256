from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tracemill_s3.cache import FOLDER_ENV, LIMIT_ENV, FileCache, default_cache
from tracemill_schema.errors import StoreError


def put(cache: FileCache, name: str, content: bytes) -> Path:
    return cache.put(name, len(content), lambda file: file.write(content) and None)


def used(path: Path, seconds_ago: float) -> None:
    then = time.time() - seconds_ago
    os.utime(path, (then, then))


def held(cache: FileCache) -> list[str]:
    files = (p for p in cache.folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    return sorted(path.relative_to(cache.folder).as_posix() for path in files)


def test_what_was_put_is_found(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "c")
    assert cache.get("a/b") is None
    path = put(cache, "a/b", b"xyz")
    assert cache.get("a/b") == path
    assert path.read_bytes() == b"xyz"
    assert (tmp_path / "c").stat().st_mode & 0o077 == 0


def test_the_file_used_longest_ago_leaves_first(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit_bytes=10, hold_s=60)
    for number, name in enumerate(("x/one", "x/two", "y/three")):
        used(put(cache, name, b"123"), 1000 - number)
    cache.get("x/one")
    put(cache, "z/four", b"1234")
    assert held(cache) == ["x/one", "y/three", "z/four"]


def test_empty_folders_leave_too(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit_bytes=3, hold_s=60)
    used(put(cache, "a/b/c/one", b"123"), 1000)
    put(cache, "d/two", b"123")
    assert held(cache) == ["d/two"]
    assert not (tmp_path / "a").exists()


def test_files_in_use_stay_even_beyond_the_limit(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit_bytes=4, hold_s=60)
    put(cache, "a", b"123")
    put(cache, "b", b"123")
    assert held(cache) == ["a", "b"]


def test_nothing_half_written_is_seen_and_nothing_is_left_behind(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)

    def fail(file: object) -> None:
        assert cache.get("a") is None
        raise StoreError("gone")

    with pytest.raises(StoreError, match="gone"):
        cache.put("a", 3, fail)
    assert [path.name for path in tmp_path.iterdir()] == [".tracemill-lock"]


def test_left_overs_of_killed_processes_are_removed_after_a_day(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    for name, age_s in ((".tracemill-old", 90_000), (".tracemill-new", 100)):
        (tmp_path / name).write_bytes(b"x")
        used(tmp_path / name, age_s)
    cache.trim(0)
    assert not (tmp_path / ".tracemill-old").exists()
    assert (tmp_path / ".tracemill-new").exists()


def test_the_whole_cache_can_be_given_up(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, hold_s=0)
    put(cache, "a", b"123")
    assert cache.trim(0) == 0
    assert held(cache) == []


def test_many_threads_share_one_folder(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit_bytes=2_000, hold_s=0)
    contents = {f"f{number % 40}": bytes([number % 40]) * 100 for number in range(400)}

    def use(name: str) -> bool:
        path = cache.get(name) or put(cache, name, contents[name])
        try:
            return path.read_bytes() == contents[name]
        except FileNotFoundError:
            return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, [f"f{number * 7 % 40}" for number in range(400)]))
    assert cache.trim(2_000) <= 2_000


_CHILD = """
import sys
from pathlib import Path
from tracemill_s3.cache import FileCache
cache = FileCache(Path(sys.argv[1]), limit_bytes=5_000)
for number in range(200):
    name = f"f{number % 60}"
    content = name.encode() * 50
    path = cache.get(name) or cache.put(name, len(content), lambda file: file.write(content))
    assert path.read_bytes() == content, name
"""


def test_several_processes_share_one_folder(tmp_path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path)]) for _ in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert len(held(FileCache(tmp_path))) == 60


def test_an_unusable_folder_says_which_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=f"cache folder .*file/c: .*{FOLDER_ENV}"):
        put(FileCache(tmp_path / "file/c"), "a", b"1")


def test_settings_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_ENV, str(tmp_path))
    monkeypatch.setenv(LIMIT_ENV, "1000")
    assert (default_cache().folder, default_cache().limit_bytes) == (tmp_path, 1000)
    monkeypatch.setenv(LIMIT_ENV, "much")
    with pytest.raises(StoreError, match="TRACEMILL_CACHE_BYTES='much'"):
        default_cache()
    monkeypatch.delenv(LIMIT_ENV)
    monkeypatch.delenv(FOLDER_ENV)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert default_cache().folder == tmp_path / "x/tracemill"
