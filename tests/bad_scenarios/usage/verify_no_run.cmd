psim verify no_such_run
