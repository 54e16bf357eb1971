"""Durable gateways: k3s in one Docker container whose data volume is never lost."""

__version__ = "0.1.0"
