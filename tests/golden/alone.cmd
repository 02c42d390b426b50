psim
