"""The cluster of one gateway, from the outside: its node, what is stale in it, and its claims.

Kubernetes is spoken by ``cluster``; here is what it means for a gateway.
"""
