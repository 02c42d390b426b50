psim explain preset bytps
