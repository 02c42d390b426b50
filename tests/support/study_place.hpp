// A folder to make small studies in, through the command line.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/run_psim.hpp"

namespace psim::test {

inline constexpr const char* scenario = R"([model]
layers = [64, 10]
[training]
batch_size = 16
steps = 6
[cluster]
workers = 2
)";
inline constexpr const char* axes = R"([compare]
consistency = ["bsp", "asp"]
"cluster.servers" = [1, 2]
seeds = [1, 2]
)";
inline constexpr const char* tuned = R"([data]
validation_fraction = 0.25
[training]
batch_size = 16
epochs = 2
[cluster]
workers = 2
[compare]
consistency = ["bsp", "asp"]
seeds = [1, 2]
[tune]
"training.learning_rate" = { from = 0.001, to = 1.0, points = 4 }
)";

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Place {
 public:
  void write(const std::string& text) const { std::ofstream(at("scenario.toml")) << text; }
  std::filesystem::path at(const std::string& name) const { return folder_.path() / name; }
  Outcome psim(std::vector<std::string> words) const { return psim::test::psim(words, folder_.path()); }
  Json study(const std::string& name) const { return Json::parse(std::ifstream(at(name) / "study.json")); }
  Json manifest(const std::string& name) const {
    return Json::parse(std::ifstream(at(name) / "manifest.json"));
  }
  bool same(const std::string& a, const std::string& b) const {
    return process({"diff", "-r", a, b}, folder_.path()).code == 0;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace psim::test
