"""Building the node image from package registries alone. Nothing here knows about gateways."""
