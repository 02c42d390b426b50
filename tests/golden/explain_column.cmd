psim explain 'compute [%]'
psim explain per update
psim explain copies | head -4
# Each column of each table is known.
columns() { tr '|' '\n' | sed 's/^ *//; s/ *$//' | grep . | sort -u; }
known() { while read -r column; do psim explain "$column" >/dev/null || echo "not known: $column"; done; }
psim compare scenarios/server_crash.toml --set training.duration=5s --seeds 1 --wide --markdown | grep '^| arm ' | tr -d '\\' | columns | known
psim run scenarios/two_jobs.toml --set training.duration=100ms --out run --trace events | grep -E '^  (group|worker) ' |
  sed 's/   */|/g' | columns | known
psim verify run | head -1 | sed 's/   */|/g; s/  what/|what/' | columns | known
rm -rf run runs studies
