psim explain cluster.wrokers
