psim explain 2bit
psim explain significant
psim explain filter.error_feedback
