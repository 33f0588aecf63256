"""The topic that tells people: verdicts, failures, alarms."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.names import Names


class Notices(Construct):
    """An encrypted topic; the e-mail address, if one is configured, is subscribed."""

    def __init__(self, scope: Construct, construct_id: str, names: Names, key: kms.IKey) -> None:
        super().__init__(scope, construct_id)
        config = names.config
        self.topic = sns.Topic(
            self,
            "Topic",
            topic_name=names.topic,
            display_name="Tracemill",
            master_key=key,
            enforce_ssl=True,
        )
        # A topic with a policy of its own no longer has the default one, which let alarms in.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[names.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": config.account}},
            )
        )
        if config.email:
            self.topic.add_subscription(subscriptions.EmailSubscription(config.email))
