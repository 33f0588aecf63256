"""Errors of the API: every failure is JSON with what went wrong and what to do about it.

{"error": "There is no profile 'x' in this store.", "hint": "Reload the list of profiles."}
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tracemill_schema.errors import (
    JobNotFoundError,
    NewerSchemaError,
    TracemillError,
    UsageError,
)

CHECK_STORE_HINT = "Check that the store can be read, then try again."


class ApiError(Exception):
    """An answer other than success: HTTP status, one clear sentence, and what to do."""

    def __init__(self, status: int, error: str, hint: str) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.hint = hint


def error_response(status: int, error: str, hint: str) -> JSONResponse:
    """Build the JSON body that all failures share."""
    return JSONResponse({"error": error, "hint": hint}, status_code=status)


def on_api_error(_request: Request, error: Exception) -> Response:
    """Answer an ``ApiError``."""
    assert isinstance(error, ApiError)
    return error_response(error.status, error.error, error.hint)


def on_tracemill_error(_request: Request, error: Exception) -> Response:
    """Answer an error of the engine or of the schema with the status that fits."""
    assert isinstance(error, TracemillError)
    if isinstance(error, UsageError):
        return error_response(400, str(error), "Correct the name or parameter.")
    if isinstance(error, JobNotFoundError):
        return error_response(404, str(error), "Go back to the list of profiles.")
    if isinstance(error, NewerSchemaError):
        return error_response(409, str(error), "Update Tracemill to open this profile.")
    return error_response(500, str(error), CHECK_STORE_HINT)


def on_http_error(_request: Request, error: Exception) -> Response:
    """Answer unknown addresses and refused methods."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, str(error.detail), "Check the address.")


def on_unexpected(_request: Request, error: Exception) -> Response:
    """Answer everything else without showing internals; the server's log has the traceback."""
    return error_response(
        500,
        f"The server could not answer ({type(error).__name__}).",
        "The terminal that runs 'tracemill ui' shows the details.",
    )
