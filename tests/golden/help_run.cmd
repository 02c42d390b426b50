psim run --help
