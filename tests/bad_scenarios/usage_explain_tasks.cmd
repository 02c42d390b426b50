psim explain tasks bps
