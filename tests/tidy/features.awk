# awk -v scenarios=FOLDER -f features.awk docs/scenario.md docs/features.md
# Every field in the third column, up to a bracket, is set by one of the scenarios in the fourth column, or under its
# "Try next"; a value given with `=` stands there too.
function content(name,    file, line, text) {
  file = scenarios "/" name ".toml"
  while ((getline line < file) > 0) text = text line "\n"
  close(file)
  return text
}
function has_key(key, text) { return text ~ ("(^|[ \n{\"'.,[])" key "\"? *=") }
function section(table, text) {
  if (!match(text, "\n\\[+" table "\\]+\n")) return ""
  text = substr(text, RSTART + RLENGTH - 1)
  sub(/\n\[.*/, "", text)
  return text "\n"
}
# As table.key anywhere, or as key in its table or in an axis over the table.
function set_in(token, text,    table, key, axes) {
  key = token
  sub(/.*\./, "", key)
  if (key == token) return has_key(key, text)
  table = substr(token, 1, length(token) - length(key) - 1)
  if (has_key(token, text) || has_key(key, section(table, text))) return 1
  axes = section("compare", text)
  return has_key(table, axes) && has_key(key, axes)
}
function table_in(key, text) { return text ~ ("(^|\n)\\[+" key "[].]") || text ~ ("(^|[\n {\"'])" key "(\"? *=|\\.)") }

FILENAME ~ /scenario\.md$/ {
  if (match($0, /^\| `[a-z0-9_]+` \|/)) known[substr($0, 4, RLENGTH - 6)] = 1
  next
}
/^\| / && !/^\| feature / {
  if (split($0, cell, / \| /) != 5) { print "docs/features.md:" FNR ": not five columns"; next }
  text = ""
  count = split(cell[4], part, "`")
  for (i = 2; i <= count; i += 2) {
    one = content(part[i])
    if (one == "") print "docs/features.md:" FNR ": no scenario " part[i]
    text = text one
  }
  if (text == "" || cell[3] ~ /^always/) next
  ++rows
  fields = cell[3]
  sub(/ *\(.*/, "", fields)
  count = split(fields, part, "`")
  for (i = 2; i <= count; i += 2) {
    token = part[i]
    if (token ~ /^\[+[a-z_.]+\]+$/) {
      gsub(/[][]/, "", token)
      if (!table_in(token, text)) print "docs/features.md:" FNR ": no scenario of the row has table " token
      continue
    }
    value = ""
    if (token ~ / = "/) { value = token; sub(/.* = "/, "", value); sub(/".*/, "", value); sub(/ = .*/, "", token) }
    key = token
    sub(/.*\./, "", key)
    if (!(key in known)) continue
    if (!set_in(token, text)) print "docs/features.md:" FNR ": no scenario of the row sets " token
    else if (value != "" && index(text, value) == 0) print "docs/features.md:" FNR ": no scenario of the row has " token " = " value
  }
}
END { if (rows < 30) print "docs/features.md: few rows with scenarios: " rows }
