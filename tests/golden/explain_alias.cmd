psim explain backup-workers
