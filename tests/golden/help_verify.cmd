psim verify --help
