"""What the container images are built from: few folders of the repository, so that an image changes
only when something in it does."""

from __future__ import annotations

from pathlib import Path

REPOSITORY_ROOT = Path(__file__).resolve().parent.parent

FUNCTION_IMAGE_PARTS = ("constraints.txt", "schema", "analysis", "store_s3", "lambdas")
"""Everything that lambdas/Dockerfile may copy from."""
APP_IMAGE_PARTS = ("constraints.txt", "schema", "analysis", "store_s3", "ui_app")
"""Everything that ui_app/Dockerfile may copy from."""

_BUILT = (
    "ui_app/server/src/tracemill_ui/static",
    "**/node_modules",
    "**/__pycache__",
    "**/*.egg-info",
    "**/.*",
    "**/build",
    "**/dist",
    "**/*.so",
)


def ignore_patterns(parts: tuple[str, ...]) -> list[str]:
    """Docker ignore patterns that leave ``parts`` without what is built in them."""
    return ["*", *(f"!{part}" for part in parts), *_BUILT]
