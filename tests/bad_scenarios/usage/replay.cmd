psim replay no_such_run
