# Plants the mistakes of mutants.txt into copies of psim's sources, each behind a switch.
#   awk -v source=DIR -v target=DIR -f plant.awk mutants.txt
# Writes the edited files to `target`; without `target` it only checks. Prints what does not apply, and ends with 1 then.
# A mistake's text stands once in its file; spaces and ends of lines do not count. It is an expression, or statements.
BEGIN { RS = ""; FS = "\n"; wrong = 0 }

/^#/ { next }
{
  name = $1
  if (name in seen) complain(name, "it stands twice")
  seen[name] = 1
  place = 0
  for (i = 2; i <= NF; ++i) {
    match($i, /^ *[a-z]+ ?/)
    key = substr($i, 1, RLENGTH)
    value = substr($i, RLENGTH + 1)
    gsub(/ /, "", key)
    if (key == "file") {
      place = ++edits
      file_of[place] = value
      name_of[place] = name
      if (!(value in known)) { known[value] = 1; files[++file_count] = value }
    } else if (key == "after") after_of[place] = value
    else if (key == "text" && !(place in text_of)) text_of[place] = value
    else if (key == "becomes") new_of[place] = value
    else if (key != "tests" && key != "breaks") complain(name, "what is `" $i "`?")
  }
  if (place == 0) complain(name, "it changes no file")
}

function complain(name, what) { print name ": " what; wrong = 1 }
function squeezed(text) { gsub(/[ \t\n]/, "", text); return text }
function begins(text, start) { return substr(text, 1, length(start)) == start }
function ends(text, end) { return length(text) >= length(end) && substr(text, length(text) - length(end) + 1) == end }
function put(position, length_of_edit, text) {
  order[++insertions] = position
  outer[insertions] = length_of_edit
  insert[insertions] = text
}

# Whether a comma stands outside of brackets: the text is no expression.
function lists(text,    i, c, depth) {
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    depth += index("([{", c) > 0
    depth -= index(")]}", c) > 0
    if (c == "," && depth == 0) return 1
  }
  return 0
}

# Whether both are expressions, or the text is statements.
function can_be_switched(old, new) {
  if (old ~ /[;}]$/) return !(old ~ /^case / || old ~ /^{[^;]*}$/)
  if (lists(old) || lists(new)) return 0
  return !(old ~ /^(return|if|else|case|[.?:])/ || old ~ /[?:,]$/ || new ~ /^({|return|if|$)/)
}

# What stands before the text and behind it. The text stays where it is, so a mistake may be inside of another.
function plant(edit, first, last,    old, new, test, equals) {
  old = text_of[edit]
  new = new_of[edit]
  test = "psim::mutant(\"" name_of[edit] "\")"
  if (!can_be_switched(old, new)) complain(name_of[edit], "its text is neither an expression nor a statement")
  if (!(old ~ /[;}]$/)) {
    if (match(old, /^[a-z_]+ = /) && begins(new, substr(old, 1, RLENGTH))) {
      equals = squeezed(substr(old, 1, RLENGTH))
      first = place_in[squeezed_at[edit] + length(equals)]
      new = substr(new, RLENGTH + 1)
    }
    put(first, last - first, "(" test " ? (" new ") : (")
    put(last + 1, first - last, "))")
  } else if (new != old && ends(new, old) && substr(new, 1, length(new) - length(old)) ~ /[;}] *$/) put(first, last - first, "if (" test ") { " substr(new, 1, length(new) - length(old)) "} ")
  else if (new != old && begins(new, old)) put(last + 1, first - last, " if (" test ") {" substr(new, length(old) + 1) " }")
  else {
    put(first, last - first, "if (" test ") { " new " } else { ")
    put(last + 1, first - last, " }")
  }
}

# 0: it is not once in the file, which is said.
function only_place_of(wanted, dense, edit,    at) {
  at = wanted == "" ? 0 : index(dense, wanted)
  if (at == 0) complain(name_of[edit], "its text is not in " file_of[edit])
  else if (index(substr(dense, at + 1), wanted) != 0) {
    complain(name_of[edit], "its text is more than once in " file_of[edit])
    return 0
  }
  return at
}

function edit_file(file,    path, line, whole, i, j, n, c, dense, edit, wanted, at, skipped, out, done, include) {
  path = source "/" file
  whole = ""
  RS = "\n"
  while ((getline line <path) > 0) whole = whole line "\n"
  close(path)
  if (whole == "") return complain(file, "no such file")
  n = length(whole)
  count = 0
  split("", place_in)
  for (i = 1; i <= n; ++i) {
    c = substr(whole, i, 1)
    if (c != " " && c != "\n" && c != "\t") place_in[++count] = i
  }
  dense = squeezed(whole)
  insertions = 0
  for (edit = 1; edit <= edits; ++edit) {
    if (file_of[edit] != file) continue
    wanted = squeezed(text_of[edit])
    skipped = 0
    if (edit in after_of) {
      skipped = only_place_of(squeezed(after_of[edit]), dense, edit)
      if (skipped == 0) continue
      at = index(substr(dense, skipped + 1), wanted)
      if (at == 0) complain(name_of[edit], "its text is not behind `after` in " file)
    } else at = only_place_of(wanted, dense, edit)
    if (at == 0) continue
    at += skipped
    squeezed_at[edit] = at
    plant(edit, place_in[at], place_in[at + length(wanted) - 1])
  }
  if (target == "") return
  # By position; at the same one, what ends an inner edit before what ends an outer one, and the other way at begins.
  for (i = 2; i <= insertions; ++i) {
    for (j = i; j > 1 && (order[j - 1] > order[j] || (order[j - 1] == order[j] && before(j, j - 1))); --j) swap(j, j - 1)
  }
  match(whole, /#include/)
  out = ""
  done = 1
  include = RSTART
  for (i = 1; i <= insertions; ++i) {
    if (include && order[i] > include) {
      out = out substr(whole, done, include - done) "#include \"tests/mutants/mutant.hpp\"\n"
      done = include
      include = 0
    }
    out = out substr(whole, done, order[i] - done) insert[i]
    done = order[i]
  }
  printf "%s%s", out, substr(whole, done) >(target "/" file)
  close(target "/" file)
}
# Ends (negative) before begins; of ends the inner one first, of begins the outer one.
function before(a, b) { return outer[a] < 0 && outer[b] < 0 ? outer[a] > outer[b] : outer[a] < 0 ? 1 : outer[b] < 0 ? 0 : outer[a] > outer[b] }
function swap(a, b,    t) {
  t = order[a]; order[a] = order[b]; order[b] = t
  t = outer[a]; outer[a] = outer[b]; outer[b] = t
  t = insert[a]; insert[a] = insert[b]; insert[b] = t
}

END {
  for (f = 1; f <= file_count; ++f) edit_file(files[f])
  exit wrong
}
