"""The tile in JupyterLab's launcher: what jupyter-server-proxy starts, and how.

JupyterLab reads this at every start, so nothing heavy is imported here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ICON = Path(__file__).parent / "icon.svg"
START_TIMEOUT_S = 60.0
"""The first start on a new Studio instance reads every library from a cold disk."""


def jupyter_server() -> dict[str, Any]:
    """Entry point ``jupyter_serverproxy_servers``: how to start the app, and its tile."""
    return {
        "command": [sys.executable, "-m", "tracemill_ui.proxied", "{unix_socket}"],
        "unix_socket": True,
        "timeout": START_TIMEOUT_S,
        "absolute_url": False,
        "new_browser_tab": True,
        # The proxy hands on the name that Jupyter is reached by; the app answers for loopback only.
        "request_headers_override": {"Host": "localhost"},
        "launcher_entry": {"title": "Tracemill", "icon_path": str(ICON)},
    }
