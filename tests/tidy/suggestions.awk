# Of a scenario's lines after "Try next:", each suggestion: the exit code that `psim check` must have with it (2
# where it is said to be refused), and its arguments.
/^# Try next:/ { begun = 1 }
begun && !/^#/ { begun = 0 }
begun { sub(/^# */, ""); text = text " " $0 }
END {
  quote = "'"
  while (match(text, "--set (" quote "[^" quote "]*" quote "|[^ " quote "]+)")) {
    set = substr(text, RSTART, RLENGTH)
    beside = substr(text, 1, RSTART - 1) ~ /^ *$/ && !ended
    text = substr(text, RSTART + RLENGTH)
    ended = sub(/[,.;:)`]+$/, "", set)
    if (beside && count > 0) all[count] = all[count] " " set
    else all[++count] = set
    wanted[count] = text ~ /^ \((refused|[^)]*is refused)/ ? 2 : 0
  }
  for (i = 1; i <= count; ++i) print wanted[i], all[i]
}
