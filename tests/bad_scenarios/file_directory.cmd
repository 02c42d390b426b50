psim check files
