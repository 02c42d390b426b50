psim run
