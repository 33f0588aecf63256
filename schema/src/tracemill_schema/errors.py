"""The project's error tree.

    TracemillError                 anything that can be told to the user in one line
    ├── UsageError                 wrong options or arguments            (exit code 2)
    ├── StoreError                 a store or object cannot be used
    │   ├── JobNotFoundError       no such job in the store
    │   └── StoreBusyError         throttled or not answering: the same may work later
    ├── InputError                 an input cannot be read at all
    │   ├── UnknownFormatError     no importer recognises the file
    │   ├── SegmentError           a raw segment is not readable
    │   └── NewerSchemaError       written by a newer Tracemill
    ├── QueryError                 SQL is refused or fails
    └── OutOfTimeError             stopped itself before a time limit would have

Every message names the file or job, the place where known, and what to do.
"""

from __future__ import annotations


class TracemillError(Exception):
    """Base of all errors that are shown to the user as one clear line."""

    exit_code = 1


class UsageError(TracemillError):
    """Options or arguments are wrong."""

    exit_code = 2


class StoreError(TracemillError):
    """A store, or an object in it, cannot be used."""


class JobNotFoundError(StoreError):
    """The store holds no job of this name."""


class StoreBusyError(StoreError):
    """The store throttles or does not answer; the same may work later."""


class InputError(TracemillError):
    """An input file cannot be read at all (a partly readable one is not an error)."""


class UnknownFormatError(InputError):
    """No importer recognises the file."""


class SegmentError(InputError):
    """A raw segment has no readable header."""


class NewerSchemaError(InputError):
    """The data was written by a newer version of Tracemill."""


class QueryError(TracemillError):
    """SQL was refused or failed."""


class OutOfTimeError(TracemillError):
    """The work was stopped because its time limit is near; what was written is not whole."""
