psim explain sps
