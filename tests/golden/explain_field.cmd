psim explain cluster.workers
