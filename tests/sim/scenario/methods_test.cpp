// Goal: the lines that `psim explain METHOD` shows are a part of a valid scenario, and each of them counts.
#include <fstream>
#include <sstream>
#include <string>

#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;

namespace {

std::string lines_of(const Topic& method) {
  std::string lines;
  std::istringstream text{std::string(method.text)};
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("  ")) lines += line.substr(2) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("the lines of every method are a part of a scenario", "[scenario]") {
  for (const Topic& method : methods()) {
    CAPTURE(method.name);
    CHECK(!method.title.empty());
    const std::string lines = lines_of(method);
    if (lines.empty()) continue;
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "scenario.toml";
    std::ofstream(path) << lines;
    Diagnostics diagnostics;
    const auto loaded = load_scenario({.path = path.string(),
                                       .overrides = {{"training.steps", "3"}, {"model.layers", "[64, 10]"}},
                                       .data_dirs = {},
                                       .axes = {}},
                                      diagnostics);
    CAPTURE(diagnostics.render());
    CHECK(loaded.has_value());
    CHECK(diagnostics.render_notes() == "");
  }
}
