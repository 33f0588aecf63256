"""Who may do what: every permission of the system, as plain data with its reason.

The stacks write exactly these statements, docs/aws-roles.md is printed from them, and the tests
compare both with the synthesized templates. Nothing is granted anywhere else.
"""

from infra.grants.base import UNSCOPABLE, Grant, Scope
from infra.grants.functions import FUNCTION_GRANTS, function_grants
from infra.grants.people import PEOPLE_GRANTS, app_image, studio_apps
from infra.grants.workflow import state_machine_grants

__all__ = [
    "FUNCTION_GRANTS",
    "PEOPLE_GRANTS",
    "UNSCOPABLE",
    "Grant",
    "Scope",
    "app_image",
    "function_grants",
    "state_machine_grants",
    "studio_apps",
]
