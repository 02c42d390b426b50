psim explain all-reduce
