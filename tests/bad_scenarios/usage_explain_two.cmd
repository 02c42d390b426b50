psim explain ssp bsp
