"""The Docker engine, behind a short protocol per noun.

Only this package imports ``docker``. It speaks the product's models and errors, never the
library's types. It knows no gateway: no name, label value or policy of ours is decided here.
"""
