"""Operations on gateways: observe, plan, act.

``observe`` is all I/O that a plan needs, as one frozen snapshot. Plans are pure. Acting carries
out a plan's actions one by one, each safe to repeat, and reports events. Nothing here prints,
exits, reads the environment or knows of terminals.
"""
