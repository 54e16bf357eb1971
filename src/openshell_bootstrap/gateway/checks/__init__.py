"""What can keep a gateway from starting, as findings that a start and ``doctor check`` share.

Nothing here changes anything, but for one labelled container that ``privileged`` tries and removes.
"""
