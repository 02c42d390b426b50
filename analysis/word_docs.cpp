#include "analysis/word_docs.hpp"

#include <algorithm>

#include "analysis/causes/graph.hpp"
#include "analysis/causes/main_cause.hpp"

namespace psim::analysis {
namespace {

// In the order of Kind.
constexpr FieldDoc of_causes[] = {
    {"idle", "psim why", "Everybody waited for a date: a start, a deadline, a window, a fault's end."},
    {"compute", "psim why", "A worker computed."},
    {"network", "psim why", "A message was on its way."},
    {"service", "psim why",
     "A server or the storage worked on a message, or the message waited there for its turn."},
    {"timeout", "psim why", "Nothing came, until the silence was noticed (recovery.timeout)."},
    {"down", "psim why",
     "A node was down, or a fault held a message up. In a time line: the node was not there."},
};

static_assert(std::ranges::equal(kind_names, of_causes, {}, {}, &FieldDoc::name));

constexpr std::string_view word_text =
#include "analysis/word_docs.txt.inc"
    ;
constexpr auto of_words = rows_of<FieldDoc, 3, row_count(word_text)>(word_text);

}  // namespace

std::span<const FieldDoc> cause_docs() { return of_causes; }
std::span<const FieldDoc> word_docs() { return of_words; }

std::vector<FieldDoc> suspect_docs() {
  std::vector<FieldDoc> docs;
  for (const SuspectDoc& suspect : suspects)
    docs.push_back({suspect.name, "psim why --json, verdict", suspect.doc});
  return docs;
}

}  // namespace psim::analysis
