psim explain consistency.model
psim explain none
