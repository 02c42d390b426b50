# JSON, a value on a line as psim writes it, to lines "PATH VALUE": aggregates/0/n 5. Of a list also its
# length.
function close_list() {
  if (is_list[depth]) print path[depth] "length " count[depth]
  depth--
}
{
  sub(/^ +/, "")
  sub(/,$/, "")
}
/^[]}]$/ { close_list(); next }
{
  key = ""
  if (match($0, /^"[^"]*": /)) {
    key = substr($0, 2, RLENGTH - 4)
    $0 = substr($0, RLENGTH + 1)
  } else if (depth && is_list[depth]) {
    key = count[depth]++
  }
  where = path[depth] key
}
/^[[{]$/ {
  depth++
  path[depth] = where == "" ? "" : where "/"
  is_list[depth] = $0 == "["
  count[depth] = 0
  next
}
$0 == "[]" { print where "/length 0"; next }
{ print where, $0 }
