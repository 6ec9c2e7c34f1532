"""PEP 517 backend: setuptools, with the dashboard built first."""

from setuptools.build_meta import *  # noqa: F403
