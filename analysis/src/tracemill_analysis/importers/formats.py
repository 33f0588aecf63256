"""Which files belong together, and what they hold. Told by content; names only help to group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracemill_schema.errors import UnknownFormatError

from tracemill_analysis.importers.base import Found
from tracemill_analysis.importers.kineto.probe import probe as probe_kineto
from tracemill_analysis.importers.nsys import recipe
from tracemill_analysis.importers.nsys.convert import PARQUET_FORMAT, SQLITE_FORMAT
from tracemill_analysis.importers.nsys.convert import probe as probe_nsys
from tracemill_analysis.importers.nsys.parquet import MAGIC as PARQUET_MAGIC
from tracemill_analysis.importers.nsys.sqlite import MAGIC as SQLITE_MAGIC
from tracemill_analysis.importers.nsys.tables import PROCESS_TABLES, READ_TABLES
from tracemill_analysis.importers.unpack import first_bytes
from tracemill_analysis.importers.xplane import probe as xplane

KINETO_FORMAT = "kineto"

HEAD_BYTES = 4 << 10
"""Bytes of a file that tell what it is."""

_PARQUET = ".parquet"
_STORED_SUFFIXES = (".json", ".gz", ".sqlite", ".xplane.pb")
_STORED_NAMES = {recipe.TRACE, *recipe.COMPANIONS, *(f"{table}{_PARQUET}" for table in READ_TABLES)}


@dataclass(frozen=True)
class Group:
    """Files that are read together. ``parts`` are those of the path that names them."""

    sources: tuple[str, ...]
    parts: tuple[str, ...]
    known_format: str | None = None


def group(files: Iterable[tuple[str, tuple[str, ...]]]) -> list[Group]:
    """Form groups of files, given as address and parts of the path.

    The tables of a Parquet export in one folder are one group, named by the folder, and so are the
    files of a recipe's result. Tables in them that are not read are passed over.
    """
    folders: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for address, parts in files:
        folders[parts[:-1]][parts[-1]] = address
    groups: list[Group] = []
    for folder, names in sorted(folders.items()):
        rest = dict(names)
        if any(f"{table}{_PARQUET}" in names for table in PROCESS_TABLES):
            tables = [n for n in names if n.endswith(_PARQUET)]
            wanted = [n for n in tables if n.removesuffix(_PARQUET) in READ_TABLES]
            groups.append(_together(folder, names, wanted, PARQUET_FORMAT))
            rest = {name: address for name, address in names.items() if name not in tables}
        elif recipe.TRACE in names and recipe.COMPANIONS & names.keys():
            files_of_it = [recipe.TRACE, *(recipe.COMPANIONS & names.keys())]
            groups.append(_together(folder, names, files_of_it, recipe.RECIPE_FORMAT))
            rest = {name: address for name, address in names.items() if name not in files_of_it}
        groups += [Group((rest[name],), (*folder, name)) for name in sorted(rest)]
    return groups


def is_usual_name(name: str) -> bool:
    """Tell whether a name is one that traces have, for places where other files lie as well."""
    return name.lower().endswith(_STORED_SUFFIXES) or name.rpartition("/")[2] in _STORED_NAMES


def is_whole_file_needed(head: bytes) -> bool:
    """Tell whether a file that begins with ``head`` can only be looked at as a whole."""
    return head.startswith((SQLITE_MAGIC, PARQUET_MAGIC)) or xplane.looks_like_xplane(head)


def look_into(group_: Group, paths: Sequence[Path]) -> tuple[str, list[Found]]:
    """Return the format of a group and the processes in it. UnknownFormatError, InputError."""
    name = group_.parts[-1]
    if group_.known_format == PARQUET_FORMAT:
        return PARQUET_FORMAT, probe_nsys(PARQUET_FORMAT, paths, name)
    if group_.known_format == recipe.RECIPE_FORMAT:
        return recipe.RECIPE_FORMAT, recipe.probe(paths, name)
    (path,) = paths
    head = first_bytes(path, HEAD_BYTES)
    if head.startswith(SQLITE_MAGIC):
        return SQLITE_FORMAT, probe_nsys(SQLITE_FORMAT, paths, name)
    if head.startswith(PARQUET_MAGIC) and recipe.is_recipe(path):
        return recipe.RECIPE_FORMAT, recipe.probe(paths, name)
    if xplane.looks_like_xplane(head) or xplane.is_xplane_name(name):
        return xplane.FORMAT, xplane.probe(path)
    if PurePosixPath(name).suffix == ".nsys-rep":
        raise UnknownFormatError(
            f"{name}: a report in Nsight Systems' own format; export it with "
            "nsys export --type sqlite and import the result"
        )
    return KINETO_FORMAT, [Found(rank=probe_kineto(path).rank_from_content)]


def _together(
    folder: tuple[str, ...], names: dict[str, str], wanted: Iterable[str], known_format: str
) -> Group:
    return Group(tuple(names[name] for name in sorted(wanted)), folder, known_format)
