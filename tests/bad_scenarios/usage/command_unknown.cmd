psim dance
