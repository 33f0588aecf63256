"""Entry point of the CDK command line, and of ``python app.py`` without it."""

import os

# The CDK's Python library talks to Node.js through jsii, which warns about every Node.js release
# that is past its end of life although it works with it. Named here: the major versions.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

from infra.app import build_app

build_app().synth()
