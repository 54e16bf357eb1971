"""How a start is decided and carried out: settle, plan, check, act, wait, record.

No command is here; ``gateway.start`` and its siblings are built from these.
"""
