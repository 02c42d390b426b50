psim what-if
