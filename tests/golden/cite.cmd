psim cite stragglers | sed 's/^What to cite for .*stragglers/What to cite for stragglers/'
