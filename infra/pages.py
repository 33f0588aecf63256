"""What follows from the stacks: options and grants for the documentation, sizes for the estimate.

``make gen`` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from infra import grants
from infra.config import Config, options_table
from infra.context import REPOSITORY_ROOT
from infra.limits import FUNCTION_LIMITS
from infra.names import Names

DEPLOY_PAGE = REPOSITORY_ROOT / "docs" / "aws-deploy.md"
ROLES_PAGE = REPOSITORY_ROOT / "docs" / "aws-roles.md"
SIZES_FILE = REPOSITORY_ROOT / "cli/src/tracemill_cli/function_sizes.json"
OPTIONS_START = "<!-- options: written by `make gen` -->\n"
OPTIONS_END = "<!-- end of options -->\n"

_EXAMPLE = Config(account="123456789012", region="eu-west-1", architecture="x86_64")
_KEY = "key"

_INTRODUCTION = """\
<!-- Written by `make gen` from infra/grants. Do not edit. -->

# Roles, grant by grant

Nothing is granted anywhere else: `infra/grants` is the one list, the stacks write it, and the tests
compare it with the synthesized templates. There is no `*` in an action. `*` as resource stands only
where AWS offers nothing narrower; those actions are listed at the end.

Resources are shortened: *store* is the bucket (and prefix) of the store, *key* the key its objects
are encrypted with, *topic key* that of the topic; the rest is written without account and region.
Listing the bucket is always bound to the prefixes in brackets, and keys are used by way of S3 or
SNS only.
"""

_SYSTEM = {
    "starter": "Event of a finished training job → one execution of the workflow.",
    "reconciler": "On a schedule: jobs whose event was missed, running jobs.",
    "discover": "Finds the recording of a job, writes the work manifest.",
    "convert": "One process's recording → event tables.",
    "aggregate": "Event tables → aggregates of the whole job.",
    "report": "Findings, report, and the manifest that makes the profile complete.",
    "catalog": "Partitions of the Glue tables.",
}
_PEOPLE = {
    "training": "For the training jobs themselves. Attach these statements to the execution role "
    "that your jobs have anyway; a job that is recorded needs no more from Tracemill.",
    "studio-user": "Execution role of the Studio domain: the six permissions that SageMaker "
    "Profiler asked for, and the key.",
    "analyst": "For people who ask questions in Athena; whoever may assume it is decided by the "
    "account's own policies.",
}


def roles_page() -> str:
    """Return docs/aws-roles.md."""
    scope = grants.Scope(_EXAMPLE, _KEY)
    out = [_INTRODUCTION, "## Functions\n"]
    for name, what in _SYSTEM.items():
        out += _section(scope, name, what, grants.function_grants(scope, name))
    out.append("## State machine\n")
    out += _section(scope, "workflow", "Runs the steps.", grants.state_machine_grants(scope))
    out.append("## Training jobs and people\n")
    for name, what in _PEOPLE.items():
        statements = grants.PEOPLE_GRANTS[name](scope)
        if name == "studio-user":
            statements += grants.studio_apps(scope, "DOMAIN")
        out += _section(scope, name, what, statements)
    out.append("## Image of the app\n")
    image = grants.app_image(scope, scope.names.arn("ecr", "repository/CDK-ASSETS"))
    out += _section(scope, "app-image", "SageMaker takes the app's image from ECR.", image)
    out += [
        "## Actions on `*`\n",
        "| action | why |",
        "|---|---|",
        *(f"| `{action}` | {why} |" for action, why in grants.UNSCOPABLE.items()),
    ]
    return "\n".join(out) + "\n"


def _section(
    scope: grants.Scope, name: str, what: str, statements: Iterable[grants.Grant]
) -> list[str]:
    role = scope.names.role(name).replace(scope.config.region, "REGION")
    return [
        f"### {name}\n",
        f"`{role}`. {what}\n",
        "| statement | actions | resources | what for |",
        "|---|---|---|---|",
        *(_line(scope.names, grant) for grant in statements),
        "",
    ]


def _line(names: Names, grant: grants.Grant) -> str:
    actions = ", ".join(f"`{action}`" for action in grant.actions)
    resources = ", ".join(_short(names, resource, grant) for resource in grant.resources)
    prefixes = grant.conditions.get("StringLike", {}).get("s3:prefix", [])
    if prefixes:
        resources += " [" + ", ".join(f"`{prefix}`" for prefix in prefixes) + "]"
    return f"| {grant.sid} | {actions} | {resources} | {grant.reason} |"


def _short(names: Names, resource: str, grant: grants.Grant) -> str:
    if resource == _KEY:
        return "topic key" if grant.sid == "TopicKey" else "key"
    if resource == names.bucket_arn:
        return "store"
    if resource.startswith(f"{names.bucket_arn}/"):
        return f"store `{resource.removeprefix(f'{names.bucket_arn}/')}`"
    return f"`{resource.split(':', 5)[-1]}`"


def deploy_page() -> str:
    """Return docs/aws-deploy.md with the table of options brought up to date."""
    text = DEPLOY_PAGE.read_text(encoding="utf-8")
    before, rest = text.split(OPTIONS_START)
    _, after = rest.split(OPTIONS_END)
    return f"{before}{OPTIONS_START}{options_table()}{OPTIONS_END}{after}"


def function_sizes() -> str:
    """Return the memory of the functions in MiB, for ``tracemill estimate``."""
    sizes = {name: limits.memory_mib for name, limits in FUNCTION_LIMITS.items()}
    return json.dumps(sizes, indent=1) + "\n"


def pages() -> dict[Path, str]:
    """Files with the text they must have."""
    return {
        ROLES_PAGE: roles_page(),
        DEPLOY_PAGE: deploy_page(),
        SIZES_FILE: function_sizes(),
    }
