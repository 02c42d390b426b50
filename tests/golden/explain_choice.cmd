psim explain consistency.model
