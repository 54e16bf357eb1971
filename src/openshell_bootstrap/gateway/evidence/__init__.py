"""What is saved of a gateway that is not well, and what must never be in it: secrets.

Collecting changes nothing and never fails: what could not be read is told in its place.
"""
