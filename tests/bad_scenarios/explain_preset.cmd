psim explain preset byteps
