"""Every operation, broken at every call: nothing on a volume may be lost by it."""
