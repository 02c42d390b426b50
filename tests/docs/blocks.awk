# Takes a page apart. DIR/N.cmd is its N-th command, DIR/N.want what the page shows of its output, and
# DIR/list has a line for each command: N, its line, the first and the number of the lines shown, the exit code.
#   awk -v page=PAGE -v dir=DIR [-v indented=1] -f blocks.awk TEXT
# indented: commands are the lines "    psim ..." of a lab's text.

# What a shell would wait for after this text: the end of a quotation, of a here-document, of a loop.
function unfinished(text,    rest, quote, c, i) {
  if (text ~ /\\$/) return 1
  if (match(text, /<<[A-Z]+/)) {
    rest = substr(text, RSTART + 2, RLENGTH - 2)
    if (text !~ ("\n" rest "$")) return 1
  }
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (quote == "" && (c == "'" || c == "\"")) quote = c
    else if (c == quote) quote = ""
  }
  rest = text
  return quote != "" || gsub(/; do/, "", rest) > gsub(/done/, "", rest)
}

function flush_command() {
  if (command == "") return
  print command >(dir "/" number ".cmd")
  close(dir "/" number ".cmd")
  printf "" >(dir "/" number ".want")
  for (i = 1; i <= shown; i++) print want[i] >(dir "/" number ".want")
  close(dir "/" number ".want")
  lines[number] = number "\t" begin "\t" (begin + height) "\t" shown
  codes[number] = 0
  command = ""
}

function start_command(text) {
  flush_command()
  number++
  command = text
  begin = FNR
  height = 1
  shown = 0
  open = unfinished(command)
}

BEGIN { printf "" >(dir "/list") }
!inside && /^<!-- exit [0-9]+ -->$/ { exit_code = $3; next }
!inside && /^```console$/ { inside = 1; next }
!inside && /^```/ { inside = 2; next }
inside == 2 { if (/^```$/) inside = 0; next }
inside && /^```$/ {
  if (open) { printf "%s:%d: a command without an end\n", page, begin; failed = 1 }
  flush_command()
  codes[number] = exit_code + 0
  inside = exit_code = open = 0
  next
}
inside && open { command = command "\n" $0; height++; open = unfinished(command); next }
inside && /^\$ / { start_command(substr($0, 3)); next }
inside { want[++shown] = $0; next }
indented && /^    psim / { start_command(substr($0, 5)); flush_command(); next }
END {
  for (i = 1; i <= number; i++) print lines[i] "\t" codes[i] >(dir "/list")
  exit failed
}
