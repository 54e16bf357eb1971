"""Options, tiers and fixtures of all tests; what they do is told in tests/plugins."""

pytest_plugins = (
    "tests.plugins.tiers",
    "tests.plugins.hermetic",
    "tests.plugins.engine",
    "tests.plugins.faults",
)
