"""Kubernetes, as far as the product needs it: adapters, no general client.

Gateway commands reach the cluster by kubectl inside the node, through :class:`NodeExec`, which an
engine's container satisfies; neither side imports the other.
"""
