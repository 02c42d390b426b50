# Are the numbers in a page's sentences those of its runs?
#   awk -v page=PAGE -v values=DIR [-v masked=1] -f numbers.awk TEXT ENTRIES   prints what is wrong; exit code 1
#   awk -v commands=1 -f numbers.awk ENTRIES                                   prints "NAME<TAB>COMMAND"
# Of ENTRIES named *.long.txt only the words are checked, and no command is printed, unless -v long=1.
# DIR/NAME is what a command said: lines "PATH VALUE" (flat.awk), or else its words.
# ENTRIES has, each on a line of its own and with what goes on indented below it:
#   page PAGE         the page that all of it is about
#   every number      each number of the page's sentences must be here; code and addresses are not sentences
#   every row         each row of the page's tables must have its second cell here: "says: | WORDS |"
#   NAME = COMMAND    psim run: its summary; psim compare: its study.json; else, or with a "|", what it prints
#   says: WORDS {FORMAT FORMULA} WORDS
#                     the page must say this, with that number. FORMAT: %.1f and its like, "%," a whole number
#                     with commas, %w a word. FORMULA: numbers and NAME/PATH, with + - * / from left to right;
#                     NAME alone is the first line that the command printed.
#   given, REASON:    words with numbers that no command prints, each on an indented line; the page must have
#                     them. With " ..." at the end they stand for all of a line, such as a table's.

function wrong(where, what) {
  printf "%s: %s\n", where, what
  failed = 1
}

function take(kind, text) {
  n++
  kinds[n] = kind
  texts[n] = text
  places[n] = FILENAME ":" FNR
}

# Entries: what is indented goes on with the entry above.
function read_entry(line) {
  if (line ~ /^(#|$)/) return
  if (line == "every number") every_number = 1
  else if (line == "every row") every_row = 1
  else if (line ~ /^given, .*:$/) kind = "given"
  else if (sub(/^says: /, "", line)) take(kind = "says", line)
  else if (line ~ /^[a-z_0-9]+ = /) take(kind = "run", line)
  else if (sub(/^  +/, "", line) && kind == "given") take("given", line)
  else if (line !~ /^page / && n) texts[n] = texts[n] " " line
}

# The page's sentences in one line, without blocks; begin_of has where each of its lines begins there.
function read_text(line) {
  if (line ~ /^```/) { in_block = !in_block; return }
  if (in_block || line ~ /^(    .*|<!--.*|)$/) return
  sub(/^(#+ |[0-9]+\. |#+ [0-9]+\. )/, "", line)
  gsub(/<\/?(details|summary)[^>]*>/, "", line)
  gsub(/ +/, " ", line)
  sub(/^ /, "", line)
  parts++
  begin_of[parts] = length(all) + 1
  line_of[parts] = FNR
  all = all line " "
}

function line_at(position,    i) {
  for (i = parts; i > 1 && begin_of[i] > position; i--);
  return line_of[i]
}

function operand(word,    name, path, value, lines) {
  if (word ~ /^-?[0-9.]+(e-?[0-9]+)?$/) return word
  name = word
  sub(/\/.*/, "", name)
  if (!(name in known)) {
    known[name] = 1
    while ((getline value < (values "/" name)) > 0) {
      path = value
      sub(/ .*/, "", path)
      found[name "/" path] = substr(value, length(path) + 2)
      if (!lines++) found[name] = value
    }
  }
  if (word in found) return found[word]
  wrong(place, "nothing is known of " word)
  return 0
}

# From left to right: 100 * a/time/wait_share.
function value_of(formula,    words, count, i, value, right) {
  count = split(formula, words, / +/)
  value = operand(words[1])
  for (i = 2; i < count; i += 2) {
    right = operand(words[i + 1])
    if (words[i] == "*") value *= right
    else if (words[i] == "/") value = right ? value / right : "nan"
    else if (words[i] == "+") value += right
    else if (words[i] == "-") value -= right
    else wrong(place, "no such sign: " words[i])
  }
  return value
}

function with_commas(digits) {
  while (digits ~ /[0-9][0-9][0-9][0-9]/ && match(digits, /[0-9][0-9][0-9](,|$)/))
    if (RSTART > 1) digits = substr(digits, 1, RSTART - 1) "," substr(digits, RSTART)
  return digits
}

# "%.1f 100 * a/time/wait_share"; %, is a whole number with commas, %w a word.
function written(placeholder,    format, value) {
  format = placeholder
  sub(/ .*/, "", format)
  value = value_of(substr(placeholder, length(format) + 2))
  if (format == "%,") return with_commas(sprintf("%.0f", value))
  if (format == "%w") return number_words[int(value + 0.5) + 1]
  return sprintf(format, value)
}

# Finds the literals of a sentence in the text, near each other; gap_at and gap_text: what is between.
function find_sentence(count,    from, at, i, next_at) {
  for (from = 1; (at = index(substr(all, from), literal[1])) > 0; from = start + 1) {
    start = from + at - 1
    at = start + length(literal[1])
    for (i = 2; i <= count; i++) {
      next_at = index(substr(all, at, 29 + length(literal[i])), literal[i])
      if (next_at < 2) break
      gap_at[i - 1] = at
      gap_text[i - 1] = substr(all, at, next_at - 1)
      at += next_at - 1 + length(literal[i])
    }
    if (i <= count) continue
    said[start] = substr(all, start, at - start)
    return 1
  }
  return 0
}

function check_sentence(sentence,    count, i, j, placeholder, right, said) {
  count = split(sentence, literal, /\{[^}]*\}/)
  if (literal[1] == "" || literal[count] == "") return wrong(place, "begin and end with words: " sentence)
  if (!find_sentence(count)) return wrong(place, page " has no such sentence: " sentence)
  for (i = 1; i < count; i++) {
    match(sentence, /\{[^}]*\}/)
    placeholder = substr(sentence, RSTART + 1, RLENGTH - 2)
    sentence = substr(sentence, RSTART + RLENGTH)
    right = wordy ? "" : written(placeholder)
    if (!masked && !wordy && right != gap_text[i]) {
      said = literal[i] gap_text[i] literal[i + 1]
      wrong(page ":" line_at(gap_at[i]), "the page says: " said "\n  the run gives: " right)
    }
    for (j = 0; j < length(gap_text[i]); j++) covered[gap_at[i] + j] = 1
  }
}

# Where the line of the page ends that has this position.
function end_of_line(position,    i) {
  for (i = parts; i > 1 && begin_of[i] > position; i--);
  return (i == parts ? length(all) + 1 : begin_of[i + 1]) - 1
}

function check_given(words,    from, at, end, whole) {
  whole = sub(/ \.\.\.$/, "", words)
  for (from = 1; (at = index(substr(all, from), words)) > 0; from += at) {
    end = whole ? end_of_line(from + at - 1) : from + at - 2 + length(words)
    for (at = from + at - 1; at <= end; at++) covered[at] = 1
    at = end - from + 1
  }
  if (from == 1) wrong(place, page " does not say: " words)
}

# Code and addresses are no sentences.
function check_every_number(    rest, at, dots, around) {
  rest = all
  while (match(rest, /`[^`]*`|\]\([^)]*\)/)) {
    dots = sprintf("%" RLENGTH "s", "")
    rest = substr(rest, 1, RSTART - 1) dots substr(rest, RSTART + RLENGTH)
  }
  for (at = 1; match(substr(rest, at), /[0-9][0-9.,]*/); at += RLENGTH) {
    at += RSTART - 1
    if (at in covered || substr(rest, at - 1, 1) ~ /[A-Za-z_]/) continue
    around = substr(all, at > 30 ? at - 30 : 1, 50)
    wrong(page ":" line_at(at), "where does this number come from? " around)
  }
}

# A row that is no header, which a line of dashes follows.
function check_every_row(    i, cell) {
  for (i = 1; i <= parts; i++) {
    if (substr(all, begin_of[i], 2) != "| " || substr(all, begin_of[i + 1], 2) == "|-") continue
    split(substr(all, begin_of[i]), cell, / \| /)
    if (said[begin_of[i] + length(cell[1]) + 1] == "| " cell[2] " |") continue
    wrong(page ":" line_of[i], "where does this cell come from? " cell[2])
  }
}

BEGIN {
  split("no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen", \
    number_words, " ")
  text_file = commands ? "" : ARGV[1]
}
FILENAME == text_file { read_text($0); next }
{ read_entry($0) }
END {
  for (k = 1; k <= n; k++) {
    place = places[k]
    wordy = !long && place ~ /\.long\.txt:/
    if (commands && kinds[k] == "run" && !wordy) {
      split(texts[k], words, " = ")
      print words[1] "\t" substr(texts[k], length(words[1]) + 4)
    }
    if (commands) continue
    if (kinds[k] == "says") check_sentence(texts[k])
    if (kinds[k] == "given") check_given(texts[k])
  }
  if (every_number && !commands) check_every_number()
  if (every_row && !commands) check_every_row()
  exit failed
}
