"""What tools/engine is made of: finding, installing, starting and stopping a Docker engine.

Standard library only, since it runs before the project's virtual environment exists.
"""
