// The works that psim's tables name as their sources, in full. They stand in references.bib.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace psim {

struct Reference {
  std::string_view type, key;           // "article", "valiant1990bsp"
  std::vector<std::string_view> cited;  // the short texts by which tables name it
  std::vector<std::pair<std::string_view, std::string_view>> fields;  // the others, in the file's order
  std::string_view field(std::string_view name) const;                // empty: it does not have this one
};

const std::vector<Reference>& references();

// Those that `text` names: "Ho et al., NIPS 2013; Li et al., OSDI 2014 (bounded delay)". In the file's order.
std::vector<const Reference*> references_in(std::string_view text);

// A name alone is an institution's, or a pseudonym; "others" are left out.
struct Author {
  std::string family, given;
};
std::vector<Author> authors_of(const Reference& reference);

// Authors, title, venue and year, in one line. `version`: psim's.
std::string reference_text(const Reference& reference, std::string_view version);
std::string bibtex(const Reference& reference, std::string_view version);

}  // namespace psim
