# The commands of psim that stand in a page's sentences: "LINE<TAB>COMMAND".
/^```/ { in_block = !in_block; next }
in_block || /^    / { next }
{
  gsub(/ +/, " ")
  sub(/^ /, "")
  parts++
  begin_of[parts] = length(all) + 1
  line_of[parts] = FNR
  all = all $0 " "
}
END {
  for (at = 1; match(substr(all, at), /`(\.\/)?psim [^`]*`/); at += RLENGTH) {
    at += RSTART - 1
    for (i = parts; i > 1 && begin_of[i] > at; i--);
    print line_of[i] "\t" substr(all, at + 1, RLENGTH - 2)
  }
}
