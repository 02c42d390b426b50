psim check --help
