// The works that a scenario uses, by the sources in psim's tables.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Full references of the sources in psim's tables, from references.bib.
struct Reference {
  std::string_view type, key;           // "article", "valiant1990bsp"
  std::vector<std::string_view> cited;  // the short texts that name it in tables
  std::vector<std::pair<std::string_view, std::string_view>> fields;  // the others, in the file's order
  std::string_view field(std::string_view name) const;                // empty if it has no such field
};

const std::vector<Reference>& references();

// The references that `text` names: "Ho et al., NIPS 2013; Li et al., OSDI 2014 (bounded delay)". In the
// file's order.
std::vector<const Reference*> references_in(std::string_view text);

// A single name is an institution or a pseudonym; "others" is left out.
struct Author {
  std::string family, given;
};
std::vector<Author> authors_of(const Reference& reference);

// Authors, title, venue and year, in one line. `version`: psim's.
std::string reference_text(const Reference& reference, std::string_view version);
std::string bibtex(const Reference& reference, std::string_view version);

struct Citation {
  std::string what;                          // "consistency.model = ssp"
  std::vector<const Reference*> references;  // empty for generated data and for files of the user
};

// In the order of the scenario's fields: the sources of its preset, consistency model, filters and data, of
// every choice that has a meaning and a source, and of every number with a source that is not the default. A
// system counts if it is the source of a row, or of a choice that is not the default. Otherwise every
// scenario would name MXNet.
std::vector<Citation> citations_of(const Scenario& scenario);

}  // namespace psim
