"""What a column and a table are. Pure data, no behaviour beyond look-ups."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Types of the Athena-readable file profile: signed integers, double, boolean, string."""

    INT32 = "int32"
    INT64 = "int64"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    STRING = "string"


class Role(Enum):
    """What the rows of a table are."""

    PROFILE = "profile"
    EVENT = "event"
    AGGREGATE = "aggregate"


@dataclass(frozen=True)
class Column:
    """One column: its unit is part of the name where it has one, and stated here for the docs."""

    name: str
    kind: Kind
    doc: str
    unit: str = ""
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One table.

    ``sort`` names the columns that order the rows of a file. Files are partitioned by ``job_name``,
    which is therefore part of the path and not of the columns.
    """

    name: str
    role: Role
    doc: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Return the column called ``name``; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name}.{name}")

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(column.name for column in self.columns)


def int32(name: str, doc: str, unit: str = "", *, nullable: bool = False) -> Column:
    """Declare a 32-bit signed integer column."""
    return Column(name, Kind.INT32, doc, unit, nullable)


def int64(name: str, doc: str, unit: str = "", *, nullable: bool = False) -> Column:
    """Declare a 64-bit signed integer column."""
    return Column(name, Kind.INT64, doc, unit, nullable)


def double(name: str, doc: str, unit: str = "", *, nullable: bool = False) -> Column:
    """Declare a double-precision column."""
    return Column(name, Kind.DOUBLE, doc, unit, nullable)


def boolean(name: str, doc: str, *, nullable: bool = False) -> Column:
    """Declare a boolean column."""
    return Column(name, Kind.BOOLEAN, doc, "", nullable)


def string(name: str, doc: str, *, nullable: bool = False) -> Column:
    """Declare a UTF-8 string column."""
    return Column(name, Kind.STRING, doc, "", nullable)
