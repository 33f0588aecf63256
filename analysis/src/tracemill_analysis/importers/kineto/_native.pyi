from typing import Any

INTEGERS: tuple[str, ...]

def decode(data: bytes, end: int) -> dict[str, Any] | None: ...
