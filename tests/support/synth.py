"""The stacks, synthesized in this process, with what CloudFormation would fill in filled in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Resource = dict[str, Any]

ACCOUNT = "123456789012"
REGION = "eu-central-1"

os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")


@dataclass(frozen=True)
class Assembly:
    """Templates by stack (``storage``, ``catalog``, ``access``, ``pipeline``, ``studio``)."""

    folder: Path
    templates: Mapping[str, dict[str, Any]]

    def resources(self, stack: str, kind: str) -> dict[str, Resource]:
        """Resolved properties of the stack's resources of one type, by logical id."""
        return {
            name: self.resolve(stack, resource.get("Properties", {}))
            for name, resource in self.templates[stack]["Resources"].items()
            if resource["Type"] == kind
        }

    def only(self, stack: str, kind: str) -> Resource:
        """Resolved properties of the stack's only resource of a type."""
        (resource,) = self.resources(stack, kind).values()
        return resource

    def all(self, kind: str) -> Iterator[Resource]:
        """Resolved properties of the resources of one type in all stacks."""
        for stack in self.templates:
            yield from self.resources(stack, kind).values()

    def resolve(self, stack: str, value: Any) -> Any:
        """Replace intrinsic functions; what only a deployment knows becomes ``<stack.Id.Attr>``."""
        match value:
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.resolve(stack, part) for part in parts)
            case {"Fn::GetAtt": [name, attribute]}:
                return f"<{stack}.{name}.{attribute}>"
            case {"Ref": name}:
                return self._ref(stack, name)
            case {"Fn::ImportValue": name}:
                return self._import(name)
            case dict():
                return {key: self.resolve(stack, inner) for key, inner in value.items()}
            case list():
                return [self.resolve(stack, inner) for inner in value]
            case _:
                return value

    def _ref(self, stack: str, name: str) -> str:
        properties = self.templates[stack]["Resources"].get(name, {}).get("Properties", {})
        for key in ("RoleName", "BucketName", "FunctionName", "QueueName"):
            if isinstance(properties.get(key), str):
                return str(properties[key])
        return f"<{stack}.{name}>"

    def _import(self, name: str) -> Any:
        for stack, template in self.templates.items():
            for output in template.get("Outputs", {}).values():
                if output.get("Export", {}).get("Name") == name:
                    return self.resolve(stack, output["Value"])
        raise AssertionError(f"no stack exports {name}")


def synthesize(folder: Path, **options: Any) -> Assembly:
    """Write the stacks with these options of ``infra.config.Config`` below ``folder``.

    cdk-nag runs along: a finding nobody has acknowledged is an error.
    """
    from infra.app import build_app

    build_app(outdir=str(folder), **options).synth()
    suffix = ".template.json"
    return Assembly(
        folder,
        {
            path.name.removesuffix(suffix): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob(f"*{suffix}"))
        },
    )
