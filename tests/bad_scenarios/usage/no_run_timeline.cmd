psim timeline
