psim explain model-parallel
