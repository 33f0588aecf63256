"""The app behind JupyterLab: the process that jupyter-server-proxy starts.

It listens on a socket file that only the user's Jupyter server can open, so whoever reaches it has
passed that server's login and host check; no port of the machine is opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp
from tracemill_analysis.store import open_store
from tracemill_schema.aws import APP_STORE_ENV
from tracemill_schema.errors import TracemillError

from tracemill_ui.app import create_app


def proxied_app(environment: Mapping[str, str]) -> ASGIApp:
    """Return the app over the store that the environment names, or one that says what is wrong.

    A process that ends tells a user of the proxy nothing but that it did not start.
    """
    address = environment.get(APP_STORE_ENV, "")
    if not address:
        return PlainTextResponse(
            f"Which store? Set {APP_STORE_ENV} to a folder or s3://bucket/prefix in the "
            "environment that JupyterLab is started with.",
            503,
        )
    try:
        return create_app(open_store(address))
    except TracemillError as error:
        return PlainTextResponse(f"{APP_STORE_ENV}={address}: {error}", 503)


def main(arguments: list[str]) -> int:
    """Serve at the socket file that the proxy names, until it ends this process."""
    (path,) = arguments
    app = proxied_app(os.environ)
    uvicorn.run(app, uds=path, log_level="warning", access_log=False, ws="none")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
