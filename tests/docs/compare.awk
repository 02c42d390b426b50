# Is what a page shows what psim printed?
#   awk -v page=PAGE -v first=LINE [-v masked=1] [-v excerpts=1] -f compare.awk WANT GOT
#                                                                  prints what differs; exit code 1
#   awk -v update=1 ...                                            prints WANT with the lines of GOT
# `...` on a line of its own stands for any lines, `...` in a line for anything: three dots, no more, and not in
# a line of a chart.
# excerpts: each line of the page is a part of a printed line.
# masked: numbers may be others, and columns of tables have other widths.

# The axis of a chart is the twelfth character.
function is_chart(line) { return substr(line, 12, 1) == "|" && substr(line, 1, 11) ~ /^[ 0-9.e-]*$/ }

function plain(line) {
  if (is_chart(line)) return "chart"
  gsub(/[0-9][0-9.,]*/, "#", line)
  gsub(/--+/, "-", line)
  gsub(/ +/, " ", line)
  return line
}

# The parts of a line between its `...`; longer rows of dots are dots.
function split_at_dots(line, parts,    n, rest) {
  n = 1
  parts[1] = ""
  for (rest = line; match(rest, /\.\.\.+/); rest = substr(rest, RSTART + RLENGTH)) {
    parts[n] = parts[n] substr(rest, 1, RSTART - 1)
    if (RLENGTH == 3) parts[++n] = ""
    else parts[n] = parts[n] substr(rest, RSTART, RLENGTH)
  }
  parts[n] = parts[n] rest
  return n
}

function same(line, printed,    parts, n, i, at) {
  if (masked) { line = plain(line); printed = plain(printed) }
  if (line == printed) return 1
  if (is_chart(line) || index(line, "...") == 0) return 0
  n = split_at_dots(line, parts)
  if (substr(printed, 1, length(parts[1])) != parts[1]) return 0
  printed = substr(printed, length(parts[1]) + 1)
  for (i = 2; i < n; i++) {
    at = index(printed, parts[i])
    if (!at) return 0
    printed = substr(printed, at + length(parts[i]))
  }
  at = length(printed) - length(parts[n])
  return at >= 0 && substr(printed, at + 1) == parts[n]
}

function fits(from, size, at,    i) {
  for (i = 0; i < size; i++) if (!same(want[from + i], got[at + i])) return 0
  return 1
}

# Where most of the lines are alike but for their numbers.
function nearest(from, size, low, high,    at, i, likeness, most, best) {
  best = low
  for (at = low; at <= high; at++) {
    likeness = 0
    for (i = 0; i < size; i++) {
      likeness += (plain(want[from + i]) == plain(got[at + i])) + same(want[from + i], got[at + i])
    }
    if (likeness > most) { most = likeness; best = at }
  }
  return best
}

function says(line, shown, printed) {
  if (!update) {
    printf "%s:%d: the page shows: %s\n  psim prints: %s\n", page, first + line - 1, shown, printed
  }
  differs = 1
}

function check_excerpts(    i, printed, line) {
  for (i = 1; i <= m; i++) printed = printed (masked ? plain(got[i]) : got[i]) "\n"
  for (i = 1; i <= n; i++) {
    line = masked ? plain(want[i]) : want[i]
    sub(/^ +/, "", line)
    if (!index(printed, line)) says(i, want[i], "(no such line)")
  }
}

# Where in the output, from `low` to `high`, the lines from..from+size-1 of the page stand; the last lines of the
# page as late as can be.
function place(from, size, low, high,    at, i, step) {
  step = from + size - 1 == n ? -1 : 1
  for (at = step > 0 ? low : high; at >= low && at <= high; at += step) if (fits(from, size, at)) break
  if (at < low || at > high) {
    at = nearest(from, size, low, high)
    for (i = 0; i < size - 1; i++) if (!same(want[from + i], got[at + i])) break
    says(from + i, want[from + i], at + i > m ? "(nothing more)" : got[at + i])
  }
  for (i = 0; i < size; i++) if (!same(want[from + i], got[at + i]) && at + i <= m) want[from + i] = got[at + i]
  return at + size
}

FILENAME == ARGV[1] { want[++n] = $0; next }
{ got[++m] = $0 }
END {
  if (excerpts) { check_excerpts(); exit differs }
  next_line = 1
  for (i = 1; i <= n; i = end + 1) {
    if (want[i] == "...") { any = 1; end = i; continue }
    for (end = i; end < n && want[end + 1] != "..."; end++);
    size = end - i + 1
    low = high = next_line
    if (any) high = m - size + 1
    next_line = place(i, size, low, high)
    any = 0
  }
  if (n && !any && next_line <= m) says(n, "(nothing more)", got[next_line])
  if (update && n) {
    for (i = 1; i <= n; i++) print want[i]
    if (!any) for (i = next_line; i <= m; i++) print got[i]
  }
  exit differs
}
