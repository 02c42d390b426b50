psim --help
