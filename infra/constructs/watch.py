"""Alarms and the dashboard."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.limits import FUNCTION_LIMITS
from infra.names import Names

_PERIOD = Duration.minutes(5)


class Watch(Construct):
    """Says when something needs a person, and shows the rest on one page."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        topic: sns.ITopic,
        functions: Mapping[str, lambda_.IFunction],
        dead_letters: Mapping[str, sqs.IQueue],
    ) -> None:
        super().__init__(scope, construct_id)
        self._names = names
        self._action = actions.SnsAction(topic)
        self._functions = functions
        self._dead_letters = dead_letters
        self._alarms()
        self._dashboard()

    def _executions(self, metric: str, statistic: str = "Sum") -> cw.Metric:
        return cw.Metric(
            namespace="AWS/States",
            metric_name=metric,
            dimensions_map={"StateMachineArn": self._names.state_machine_arn},
            statistic=statistic,
            period=_PERIOD,
            label=metric,
        )

    def _alarms(self) -> None:
        for metric, meaning in (
            ("ExecutionsFailed", "a profile could not be made; see failure.json of the job"),
            ("ExecutionsTimedOut", "the workflow of a job took too long"),
            ("ExecutionsAborted", "somebody ended the workflow of a job"),
        ):
            self._alarm(metric, self._executions(metric), meaning)
        for name, queue in self._dead_letters.items():
            self._alarm(
                f"{name}-dead-letters",
                queue.metric_approximate_number_of_messages_visible(
                    period=_PERIOD, statistic="Maximum"
                ),
                f"events were not handled by {name}; look at them, then redrive the queue",
            )
        for name in ("starter", "reconciler"):
            self._alarm(
                f"{name}-errors",
                self._functions[name].metric_errors(period=_PERIOD),
                f"{name} fails; see its log",
            )
        self._alarm(
            "convert-throttles",
            self._functions["convert"].metric_throttles(period=_PERIOD),
            "the account's Lambda concurrency is used up; lower max_concurrency or raise the quota",
            periods=3,
        )
        convert_s = FUNCTION_LIMITS["convert"].timeout_s
        self._alarm(
            "convert-slow",
            self._functions["convert"].metric_duration(period=_PERIOD, statistic="Maximum"),
            "a process takes nearly as long as the function may run",
            threshold=0.8 * convert_s * 1000,
        )

    def _alarm(
        self,
        name: str,
        metric: cw.IMetric,
        meaning: str,
        *,
        threshold: float = 0,
        periods: int = 1,
    ) -> None:
        alarm = cw.Alarm(
            self,
            name,
            alarm_name=f"{self._names.config.name}-{name}",
            alarm_description=meaning,
            metric=metric,
            threshold=threshold,
            comparison_operator=cw.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=periods,
            datapoints_to_alarm=periods,
            treat_missing_data=cw.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)

    def _dashboard(self) -> None:
        worked = ("discover", "convert", "aggregate", "report", "catalog")
        cw.Dashboard(
            self,
            "Dashboard",
            dashboard_name=f"{self._names.config.name}-{self._names.config.region}",
            default_interval=Duration.days(7),
            widgets=[
                [
                    self._graph(
                        "Profiles",
                        [
                            self._executions(f"Executions{word}")
                            for word in ("Started", "Succeeded", "Failed", "TimedOut")
                        ],
                    ),
                    self._graph(
                        "Time of a workflow, ms",
                        [self._executions("ExecutionTime", s) for s in ("p50", "p95")],
                    ),
                ],
                [
                    self._graph(
                        "Time of a step, longest, ms",
                        [
                            self._functions[name].metric_duration(
                                statistic="Maximum", period=_PERIOD, label=name
                            )
                            for name in worked
                        ],
                    ),
                    self._graph(
                        "Errors and throttles",
                        [
                            *(
                                f.metric_errors(period=_PERIOD, label=f"{n} errors")
                                for n, f in self._functions.items()
                            ),
                            self._functions["convert"].metric_throttles(
                                period=_PERIOD, label="convert throttles"
                            ),
                        ],
                    ),
                ],
                [
                    self._graph(
                        "Events not handled",
                        [
                            queue.metric_approximate_number_of_messages_visible(
                                period=_PERIOD, statistic="Maximum", label=name
                            )
                            for name, queue in self._dead_letters.items()
                        ],
                    )
                ],
            ],
        )

    def _graph(self, title: str, metrics: list[cw.Metric]) -> cw.GraphWidget:
        return cw.GraphWidget(title=title, left=list(metrics), width=12, height=6)
