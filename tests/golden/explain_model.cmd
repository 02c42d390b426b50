psim explain ssp
