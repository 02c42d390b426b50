psim report
