psim explain no-meaning
