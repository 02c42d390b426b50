psim explain tasks
