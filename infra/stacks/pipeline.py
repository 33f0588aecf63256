"""From the event of a finished training job to its profile."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct
from tracemill_schema.aws import FUNCTIONS

from infra.constructs.function import FunctionImage, SystemFunction
from infra.constructs.notices import Notices
from infra.constructs.triggers import DeadLetters, Triggers
from infra.constructs.watch import Watch
from infra.constructs.workflow import Workflow
from infra.names import Names
from infra.stacks.base import SystemStack

_EVENT_FUNCTIONS = ("starter", "reconciler")
"""Functions that are called with events, so that a failed call is nobody's but the queue's."""


class PipelineStack(SystemStack):
    """Functions, state machine, triggers, topic, alarms, dashboard."""

    def __init__(
        self,
        scope: Construct,
        *,
        names: Names,
        key: kms.IKey,
        function_roles: Mapping[str, iam.IRole],
        state_machine_role: iam.IRole,
    ) -> None:
        super().__init__(scope, "pipeline", names=names, description="workflow and functions")
        notices = Notices(self, "Notices", names, key)
        queues = {
            name: DeadLetters(self, f"{name}-dead-letters", names, name).queue
            for name in _EVENT_FUNCTIONS
        }
        image = FunctionImage(self, "Functions", names.config)
        functions = {
            declared.name: SystemFunction(
                self,
                declared.name,
                names=names,
                function=declared.name,
                image=image,
                role=function_roles[declared.name],
                dead_letters=queues.get(declared.name),
            ).function
            for declared in FUNCTIONS
        }
        workflow = Workflow(self, "Workflow", names=names, role=state_machine_role)
        for function in functions.values():
            workflow.state_machine.node.add_dependency(function)
        Triggers(
            self,
            "Triggers",
            config=names.config,
            starter=functions["starter"],
            starter_dead_letters=queues["starter"],
            reconciler=functions["reconciler"],
            reconciler_dead_letters=queues["reconciler"],
        )
        Watch(
            self,
            "Watch",
            names=names,
            topic=notices.topic,
            functions=functions,
            dead_letters=queues,
        )
        CfnOutput(self, "StateMachineArn", value=names.state_machine_arn)
        CfnOutput(self, "TopicArn", value=names.topic_arn)
