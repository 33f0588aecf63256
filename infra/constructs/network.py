"""A small network for a Studio domain that was given none."""

from __future__ import annotations

from aws_cdk import Fn, Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.nag import acknowledge

_CIDR = "10.83.0.0/24"
_SUBNET_CIDRS = ("10.83.0.0/25", "10.83.0.128/25")


class IsolatedNetwork(Construct):
    """Two subnets with no way out but a gateway endpoint to S3: nothing billed by the hour.

    It carries the traffic to the domain's file system; apps reach the internet through SageMaker's
    own network.
    """

    def __init__(self, scope: Construct, construct_id: str, *, region: str, name: str) -> None:
        super().__init__(scope, construct_id)
        vpc = ec2.CfnVPC(
            self, "Vpc", cidr_block=_CIDR, enable_dns_hostnames=True, enable_dns_support=True
        )
        Tags.of(vpc).add("Name", name)
        acknowledge(
            vpc, {"VPC7": "no route leads out of it; it carries only the domain's file system"}
        )
        routes = ec2.CfnRouteTable(self, "Routes", vpc_id=vpc.attr_vpc_id)
        self.vpc_id = vpc.attr_vpc_id
        self.subnet_ids = []
        for index, cidr in enumerate(_SUBNET_CIDRS):
            subnet = ec2.CfnSubnet(
                self,
                f"Subnet{index}",
                vpc_id=vpc.attr_vpc_id,
                cidr_block=cidr,
                availability_zone=Fn.select(index, Fn.get_azs()),
                map_public_ip_on_launch=False,
            )
            ec2.CfnSubnetRouteTableAssociation(
                self,
                f"Routes{index}",
                route_table_id=routes.attr_route_table_id,
                subnet_id=subnet.attr_subnet_id,
            )
            self.subnet_ids.append(subnet.attr_subnet_id)
        ec2.CfnVPCEndpoint(
            self,
            "S3",
            vpc_id=vpc.attr_vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{region}.s3",
            route_table_ids=[routes.attr_route_table_id],
        )
