psim explain fault
