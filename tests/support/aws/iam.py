"""Evaluates calls against the policies of the synthesized roles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.synth import Assembly


@dataclass(frozen=True)
class Need:
    """One thing a principal has to be allowed. ``why`` says for what call."""

    role: str
    action: str
    resource: str
    why: str
    context: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Statement:
    """One Allow statement of a role. Denials and exceptions (``NotAction``) do not occur."""

    role: str
    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]] = field(hash=False)

    def allows(self, need: Need) -> bool:
        """Tell whether the statement is enough for the need."""
        return (
            any(need.action.lower() == action.lower() for action in self.actions)
            and any(like(pattern, need.resource) for pattern in self.resources)
            and all(
                _holds(operator, many(values), need.context.get(key))
                for operator, keys in self.conditions.items()
                for key, values in keys.items()
            )
        )

    def without(self) -> Iterator[tuple[str, Statement | None]]:
        """Yield every smaller form of the statement with what it lacks; None: all of it."""
        yield self.sid, None
        for action in self.actions:
            rest = tuple(one for one in self.actions if one != action)
            yield f"{self.sid}: {action}", self._with(actions=rest)
        for resource in self.resources:
            rest = tuple(one for one in self.resources if one != resource)
            yield f"{self.sid}: {resource}", self._with(resources=rest)

    def _with(self, **changes: tuple[str, ...]) -> Statement:
        parts = {"actions": self.actions, "resources": self.resources, **changes}
        return Statement(self.role, self.sid, parts["actions"], parts["resources"], self.conditions)


def role_statements(assembly: Assembly) -> dict[str, list[Statement]]:
    """Return the statements of all roles, by the role's short name."""
    documents = [
        (role["RoleName"], policy["PolicyDocument"])
        for role in assembly.all("AWS::IAM::Role")
        for policy in role.get("Policies", [])
    ]
    documents += [
        (policy["RoleName"], policy["PolicyDocument"])
        for policy in assembly.all("AWS::IAM::RolePolicy")
    ]
    found: dict[str, list[Statement]] = {}
    for name, document in documents:
        role = name.removeprefix("tracemill-").removesuffix("-eu-central-1")
        for one in document["Statement"]:
            assert one["Effect"] == "Allow"
            assert {"Sid", "Effect", "Action", "Resource"} <= set(one)
            assert set(one) <= {"Sid", "Effect", "Action", "Resource", "Condition"}
            found.setdefault(role, []).append(
                Statement(
                    role,
                    one["Sid"],
                    tuple(many(one["Action"])),
                    tuple(many(one["Resource"])),
                    one.get("Condition", {}),
                )
            )
    return found


def denied(statements: Sequence[Statement], needs: Sequence[Need]) -> list[Need]:
    """Return the needs that no statement allows."""
    return [need for need in needs if not any(one.allows(need) for one in statements)]


def like(pattern: str, text: str) -> bool:
    """Match IAM's wildcards ``*`` and ``?``."""
    parts = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(parts, text) is not None


def many(value: str | list[str]) -> list[str]:
    """Return a list where IAM allows a single value too."""
    return [value] if isinstance(value, str) else value


def _holds(operator: str, values: list[str], found: str | None) -> bool:
    if found is None:
        return False
    if operator == "StringEquals":
        return found in values
    if operator == "StringLike":
        return any(like(value, found) for value in values)
    raise AssertionError(f"condition operator {operator} is not known here")
