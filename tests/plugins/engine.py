"""The engine under test and everything that must not be left on it."""
