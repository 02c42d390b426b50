psim verify
