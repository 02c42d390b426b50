// Goal: whatever psim's tables name as a source can be cited, and what a scenario uses is cited. Method: all
// rows and choices, each alone in a scenario.
#include "sim/scenario/reference/citations.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "sim/protocol/filter.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

std::set<std::string> keys_of(const std::vector<const Reference*>& works) {
  std::set<std::string> keys;
  for (const Reference* work : works) keys.emplace(work->key);
  return keys;
}

// By what is cited.
std::set<std::string> cited(const Scenario& scenario, const std::string& what) {
  for (const Citation& one : citations_of(scenario)) {
    if (one.what == what) return keys_of(one.references);
  }
  return {};
}

// Every part of a row's source between semicolons is a work.
void check_source(std::string_view name, std::string_view source) {
  while (!source.empty()) {
    const std::string_view part = source.substr(0, source.find(';'));
    source.remove_prefix(std::min(part.size() + 1, source.size()));
    INFO(name << ": " << part);
    CHECK_FALSE(references_in(part).empty());
  }
}

}  // namespace

TEST_CASE("every source of a row has its reference", "[citations]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) check_source(row.name, row.source);
  for (const FilterRow& row : all_rows<FilterRow>()) check_source(row.name, row.source);
  for (const PresetTable& table : all_rows<PresetTable>()) {
    for (const PresetRow& row : table.rows) check_source(table.name, row.source);
  }
}

// The page has the documentation of every field and choice.
TEST_CASE("every work that the reference page names has its reference", "[citations]") {
  const std::string page = scenario_reference();
  // Whether a short text of a reference ends here.
  const auto is_known = [&page](std::size_t end) {
    return std::ranges::any_of(references(), [&](const Reference& one) {
      return std::ranges::any_of(one.cited, [&](std::string_view name) {
        return name.size() <= end && page.compare(end - name.size(), name.size(), name) == 0;
      });
    });
  };
  const std::regex work("(et al\\.|[A-Z][a-z]+),? ([A-Z][A-Za-z]+ )?(19|20)[0-9][0-9](, 20[0-9][0-9])?");
  std::size_t found = 0;
  for (std::sregex_iterator one(page.begin(), page.end(), work), end; one != end; ++one, ++found) {
    INFO(one->str());
    CHECK(is_known(static_cast<std::size_t>(one->position() + one->length())));
  }
  CHECK(found > 40);
}

TEST_CASE("a reference has a key of its own, authors, a title and short texts", "[citations]") {
  std::set<std::string> keys, texts;
  for (const Reference& one : references()) {
    INFO(one.key);
    CHECK(keys.emplace(one.key).second);
    CHECK_FALSE(authors_of(one).empty());
    CHECK_FALSE(one.field("title").empty());
    CHECK_FALSE(one.cited.empty());
    for (const std::string_view text : one.cited) CHECK(texts.emplace(text).second);
    const bool has_year = one.field("year").size() == 4;
    CHECK((has_year || one.type == "software"));
  }
}

TEST_CASE("what a scenario chooses is cited", "[citations]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    Scenario s;
    s.consistency.model = row.name;
    INFO(row.name);
    CHECK(cited(s, "consistency.model = " + std::string(row.name)) == keys_of(references_in(row.source)));
  }
  for (const FilterRow& row : all_rows<FilterRow>()) {
    Scenario s;
    s.filters.resize(2);  // of two, the second is cited as well
    s.filters[1].kind = row.name;
    INFO(row.name);
    CHECK(cited(s, "filter.kind = " + std::string(row.name)) == keys_of(references_in(row.source)));
  }
  for (const PresetTable& table : all_rows<PresetTable>()) {
    Scenario s;
    s.preset = std::string_view(table.name);
    for (const PresetRow& row : table.rows) {
      INFO(table.name << ": " << row.source);
      for (const std::string& key : keys_of(references_in(row.source)))
        CHECK(cited(s, "preset = " + std::string(table.name)).contains(key));
    }
  }
}

TEST_CASE("numbers with a source count where they are not the default", "[citations]") {
  Scenario s;
  CHECK(cited(s, "training.local_steps = 4").empty());
  s.training.local_steps = 4;
  CHECK(cited(s, "training.local_steps = 4") == std::set<std::string>{"stich2019local"});
}

TEST_CASE("what is off is not cited, whatever the model", "[citations]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    Scenario s;
    s.consistency.model = row.name;
    INFO(row.name);
    CHECK(std::ranges::none_of(citations_of(s),
                               [](const Citation& one) { return one.what.ends_with(" = false"); }));
    s.consistency.cache = true;
    CHECK(cited(s, "consistency.cache = true").empty() == !row.has_bound());
  }
}

TEST_CASE("data are cited, unless psim makes them", "[citations]") {
  Scenario s;
  s.data.source = DataSource("digits");
  CHECK(cited(s, "data.source = digits") == std::set<std::string>{"alpaydin1998digits"});
  s.data.source = DataSource("idx");
  CHECK(cited(s, "data.source = idx") == std::set<std::string>{"lecun1998mnist", "xiao2017fashion"});
  s.data.source = DataSource("blobs");
  const std::vector<Citation> all = citations_of(s);
  const auto blobs = std::ranges::find(all, "data.source = blobs", &Citation::what);
  REQUIRE(blobs != all.end());  // is there, and says so
  CHECK(blobs->references.empty());
}

TEST_CASE("defaults name works, and no systems", "[citations]") {
  for (const Citation& one : citations_of(Scenario{})) {
    if (one.what.starts_with("consistency.model")) continue;
    for (const std::string& key : keys_of(one.references)) {
      INFO(one.what);
      CHECK(key != "chen2015mxnet");
      CHECK(key != "abadi2016tensorflow");
    }
  }
}

TEST_CASE("references are written as people write them, and as BibTeX reads them", "[citations]") {
  const Reference& work = *references_in("Zhao et al., ICDCS 2019").front();
  CHECK(reference_text(work, "1") ==
        "Xing Zhao, Aijun An, Junfeng Liu, Bao Xin Chen. Dynamic Stale Synchronous Parallel Distributed "
        "Training for Deep Learning. IEEE International Conference on Distributed Computing Systems (ICDCS), "
        "2019.");
  const std::string entry = bibtex(work, "1");
  CHECK(entry.starts_with("@inproceedings{zhao2019dssp,\n  author       = {Zhao, Xing and"));
  CHECK(entry.find("cited") == std::string::npos);
  CHECK(bibtex(*references_in("psim itself").front(), "1.2.3").find("Version 1.2.3") != std::string::npos);
  CHECK(references_in("Stich et al., NeurIPS 2018").size() == 1);  // not Stich, ICLR 2019
}
