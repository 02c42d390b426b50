psim export --svg charts
