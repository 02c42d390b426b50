// Goal: an arm sets its fields and no others, and its texts KEY=VALUE, given to --set, make the same
// scenario.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;

namespace {

constexpr const char* base = R"([model]
layers = [64, 10]
[training]
steps = 3
learning_rate = 0.5
[consistency]
model = "ssp"
staleness = 3
[compare]
"cluster.workers" = [2, 4]
)";

class File {
 public:
  explicit File(const std::string& text) : path_(folder_.path() / "scenario.toml") {
    std::ofstream(path_) << text;
  }

  std::vector<Axis> axes(std::vector<Override> more = {}) const {
    Diagnostics diagnostics;
    const auto axes = load_axes(
        {.path = path_.string(), .overrides = {}, .data_dirs = {}, .axes = std::move(more)}, diagnostics);
    INFO(diagnostics.render());
    REQUIRE(axes.has_value());
    return *axes;
  }
  std::string resolved(std::vector<Override> overrides, std::vector<AxisChoice> point = {}) const {
    Diagnostics diagnostics;
    const auto loaded = load_scenario({.path = path_.string(),
                                       .overrides = std::move(overrides),
                                       .data_dirs = {},
                                       .point = std::move(point)},
                                      diagnostics);
    INFO(diagnostics.render());
    REQUIRE(loaded.has_value());
    CHECK(diagnostics.render_notes().empty());
    return resolved_toml(loaded->scenario);
  }

 private:
  psim::test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

std::vector<Override> overrides_of(const std::vector<std::string>& sets) {
  std::vector<Override> all;
  for (const std::string& set : sets)
    all.push_back({set.substr(0, set.find('=')), set.substr(set.find('=') + 1)});
  return all;
}

}  // namespace

TEST_CASE("an arm sets any fields, dotted or in tables, and keeps all others", "[axes]") {
  const File file(std::string(base) + R"([[compare.arm]]
name = "as it is"
[[compare.arm]]
name = "many"
consistency = "k-sync 2"
"training.momentum" = 0.5
straggler = [{ workers = [1], slowdown = 2.0 }]
[compare.arm.training]
optimizer = "momentum"
learning_rate = 0.25
[[compare.arm]]
name = "a table of one field"
consistency.staleness = 1
)");
  const std::vector<Axis> axes = file.axes();
  REQUIRE(axes.size() == 2);
  const Axis& arm = axes[1];
  CHECK(arm.key == "arm");
  REQUIRE(arm.values.size() == 3);
  CHECK(arm.values[0].label == "as it is");
  CHECK(arm.values[0].sets.empty());
  CHECK(arm.values[1].label == "many");
  CHECK(arm.values[1].sets ==
        std::vector<std::string>{
            "consistency=\"k-sync 2\"", "straggler=[{ \"slowdown\" = 2.0, \"workers\" = [1] }]",
            "training.learning_rate=0.25", "training.optimizer=\"momentum\"", "training.momentum=0.5"});
  CHECK(arm.fields == std::set<std::string>{"consistency.model", "consistency.k", "straggler",
                                            "training.learning_rate", "training.optimizer",
                                            "training.momentum", "consistency.staleness"});

  const std::string as_it_is = file.resolved({}, {{"arm", 0}});
  CHECK(as_it_is == file.resolved({{"seed", "1"}}));
  const std::string many = file.resolved({}, {{"cluster.workers", 1}, {"arm", 1}});
  for (const char* line : {"workers = 4\n", "model = \"k-sync\"\n", "k = 2\n", "momentum = 0.5\n",
                           "learning_rate = 0.25\n", "slowdown = 2.0\n", "steps = 3\n"}) {
    INFO(line << many);
    CHECK(many.find(line) != std::string::npos);
  }
  CHECK(file.resolved({}, {{"arm", 2}}).find("staleness = 1\n") != std::string::npos);
}

TEST_CASE("the texts of an arm make its scenario: a printed command line can be pasted", "[axes]") {
  const File file(std::string(base) + R"(arm = [
  { name = "a", consistency = { model = "ssp", staleness = 1 }, cluster.worker.speed = "1Gf" },
  { name = "b", "model.layers" = [64, 8, 10], model = { activation = "tanh" }, inference = {} },
  { name = "c", filter = [{ kind = "top-k", fraction = 0.5 }], title = "\"quoted\" = text" },
  { name = "d" },
]
)");
  const std::vector<Axis> axes = file.axes();
  const auto& workers = axes[0].values;
  const auto& arms = axes[1].values;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    for (std::size_t a = 0; a < arms.size(); ++a) {
      std::vector<std::string> sets = workers[w].sets;
      sets.insert(sets.end(), arms[a].sets.begin(), arms[a].sets.end());
      INFO(arms[a].label);
      CHECK(file.resolved(overrides_of(sets)) == file.resolved({}, {{"cluster.workers", w}, {"arm", a}}));
    }
  }
}

TEST_CASE("arms of the command line are axes like those of the file", "[axes]") {
  const File file(base);
  const Override arms{"arm", R"([{ name = "a" }, { name = "b", "training.steps" = 7 }])"};
  const std::vector<Axis> axes = file.axes({arms});
  REQUIRE(axes.size() == 2);
  CHECK(axes[1].values[1].label == "b");
  CHECK(axes[1].values[1].sets == std::vector<std::string>{"training.steps=7"});
  CHECK_FALSE(axes[1].in_file);
}
