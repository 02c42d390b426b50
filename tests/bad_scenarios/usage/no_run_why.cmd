psim why
