"""The state machine with its execution log."""

from __future__ import annotations

import json

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra import workflow
from infra.constructs.function import log_retention
from infra.names import Names


class Workflow(Construct):
    """A Standard state machine made from ``infra.workflow``, all transitions logged and traced."""

    def __init__(
        self, scope: Construct, construct_id: str, *, names: Names, role: iam.IRole
    ) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self,
            "Log",
            # Vended log groups under this name need no growing resource policy.
            log_group_name=f"/aws/vendedlogs/states/{names.state_machine}",
            retention=log_retention(names.config),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.state_machine = sfn.CfnStateMachine(
            self,
            "StateMachine",
            state_machine_name=names.state_machine,
            state_machine_type="STANDARD",
            role_arn=role.role_arn,
            # Not Stack.to_json_string: that leaves out nulls, and a ResultPath of null matters.
            definition_string=json.dumps(workflow.definition(names), indent=1),
            tracing_configuration=sfn.CfnStateMachine.TracingConfigurationProperty(enabled=True),
            logging_configuration=sfn.CfnStateMachine.LoggingConfigurationProperty(
                level="ALL",
                # Inputs and outputs hold names and keys only.
                include_execution_data=True,
                destinations=[
                    sfn.CfnStateMachine.LogDestinationProperty(
                        cloud_watch_logs_log_group=sfn.CfnStateMachine.CloudWatchLogsLogGroupProperty(
                            log_group_arn=log_group.log_group_arn
                        )
                    )
                ],
            ),
        )
