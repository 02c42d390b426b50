# awk -f slides.awk -v figures=figures.txt SLIDES.md...: prints offences of slides against the rules of
# docs/course/teaching.md. A result is a figure or a number with the class .psim.
function offence(text) { printf "%s: slide %d (%s): %s\n", name, slide, heading, text }
function end_slide(    i) {
  if (!slide) return
  if (words > (sources ? 60 : 40)) offence(words " words, limit " (sources ? 60 : 40))
  if (result && !asked) offence("a result without a question before it")
  for (i = 1; i <= numbers; i++)
    if (index(shown, number[i]) == 0) offence("its notes have no command that prints " number[i])
  asked = ask
  ask = result = words = numbers = 0
  shown = ""
}
function end_file() {
  if (!name) return
  end_slide()
  if (slide < 8 || slide > 14) offence("that is the last one; a lab has 8 to 14")
  if (!sources) offence("the last slide is to say what real systems do {.sources}")
}
function count(text) {
  while (match(text, /\[[^][]*\]\{\.psim\}/)) {
    number[++numbers] = substr(text, RSTART + 1, RLENGTH - 9)
    result = 1
    text = substr(text, 1, RSTART - 1) number[numbers] substr(text, RSTART + RLENGTH)
  }
  if (match(text, /\]\(figures\/.*\)$/)) {
    figure = substr(text, RSTART + 10, RLENGTH - 15)
    if (!(figure in known)) offence("figures.txt has no figure " figure)
    used[figure] = result = 1
    text = substr(text, 1, RSTART - 1)
  }
  gsub(/\{[^}]*\}/, "", text)
  gsub(/[^[:alnum:].% ]/, "", text)
  words += split(text, parts, " ")
}
BEGIN {
  while ((getline line < figures) > 0)
    if (line ~ /^[a-z]/) { sub(/ *\|.*/, "", line); known[line] = 1 }
}
FNR == 1 {
  end_file()
  name = FILENAME
  heading = "cover"
  slide = header = 1
  notes = code = asked = sources = 0
  next
}
header { if (/^---$/) header = 0; next }
/^# / && !code {
  end_slide()
  slide++
  heading = $0
  sub(/^# /, "", heading)
  ask = /\{\.ask\}/
  sources = /\{\.sources\}/
  count(heading)
  next
}
/^:::/ { notes = /notes/; next }
/^```/ { code = !code; next }
notes && code && (/^\$/ || command) { command = /\\$/; next }
notes { if (code) shown = shown "\n" $0; next }
{ count($0) }
END {
  end_file()
  for (figure in known) if (!(figure in used)) print figures ": no slide shows " figure
}
