// Goal: with [tune] no trial learns from a sample that a comparison is tested on. Method: for every data
// source the samples of trials and of the comparison's runs are loaded as psim loads them, and compared by
// content.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "model/dataset.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;

namespace {

constexpr int rows = 60;

// A sample's numbers as text: those of its inputs.
std::set<std::string> contents(const Dataset& data) {
  std::set<std::string> all;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    std::string one;
    if (data.is_sparse()) {
      const SparseMatrix::Row row = data.sparse_inputs.row(static_cast<std::size_t>(i));
      for (std::size_t k = 0; k < row.index.size(); ++k)
        one += fmt::format("{}:{} ", row.index[k], row.value[k]);
    } else {
      for (Eigen::Index c = 0; c < data.inputs.cols(); ++c) one += fmt::format("{} ", data.inputs(i, c));
    }
    all.insert(one);
  }
  return all;
}

class Folder {
 public:
  Folder() {
    std::ofstream csv(folder_.path() / "rows.csv"), svm(folder_.path() / "rows.svm");
    for (int i = 0; i < rows; ++i) {
      csv << i << "," << i * i << "," << i % 3 << "\n";
      svm << i % 2 << " 1:" << i + 1 << " 3:" << 2 * i + 1 << "\n";
    }
  }

  DataSplit load(const std::string& data, const std::string& model, int seed, bool tunes = true,
                 const std::string& more = "") const {
    const auto path = folder_.path() / "scenario.toml";
    std::ofstream(path) << fmt::format(
        "seed = 3\n[data]\n{}\nvalidation_fraction = 0.2\n{}\n[model]\n{}\n[training]\nbatch_size = 2\nsteps "
        "= "
        "1\n[cluster]\nworkers = 2\n{}",
        data, more, model, tunes ? "[tune]\n\"training.learning_rate\" = [0.1, 0.2]\n" : "");
    Diagnostics diagnostics;
    const auto loaded = load_scenario(
        {.path = path.string(), .overrides = {{"seed", fmt::to_string(seed)}}, .data_dirs = {folder_.path()}},
        diagnostics);
    INFO(diagnostics.render());
    REQUIRE(loaded.has_value());
    return *loaded->data;
  }

 private:
  psim::test::TemporaryFolder folder_;
};

struct Source {
  std::string data, model;
};
const Source all_sources[] = {
    {"source = \"digits\"", "layers = [64, 10]"},
    {"source = \"csv\"\npath = \"rows.csv\"", "layers = [2, 3]"},
    {"source = \"libsvm\"\npath = \"rows.svm\"", "kind = \"logistic\""},
    {"source = \"blobs\"\nsamples = 90", "layers = [2, 3]"},
    {"source = \"spirals\"\nsamples = 90\nnoise = 0.0", "layers = [2, 3]"},
    {"source = \"teacher\"\nsamples = 90", "layers = [2, 3]\nloss = \"half-sse\""},
    {"source = \"clicks\"\nsamples = 90\nfeatures = 5000", "kind = \"logistic\""},
};

// Of the test samples of `one` those that `other` learns from, or is judged on.
std::size_t leaked(const DataSplit& one, const DataSplit& other) {
  const std::set<std::string> test = contents(one.test), own = contents(one.train);
  std::size_t count = 0;
  for (const Dataset* part : {&other.train, &other.validation}) {
    for (const std::string& sample : contents(*part))
      count += test.contains(sample) && !own.contains(sample) ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("no trial learns from a sample that a comparison is tested on", "[split]") {
  const Folder folder;
  for (const Source& source : all_sources) {
    INFO(source.data);
    for (const int seed : {1, 2, 17}) {
      const DataSplit compared = folder.load(source.data, source.model, seed);
      CHECK(compared.test.size() > 0);
      for (const int trial : {1001, 1002}) {
        const DataSplit tried = folder.load(source.data, source.model, trial);
        CHECK(leaked(compared, tried) == 0);
        CHECK(tried.test.size() == compared.test.size());
      }
    }
  }
}

TEST_CASE("without trials of tuning each seed has a split of its own, and as before", "[split]") {
  const Folder folder;
  for (const Source& source : {all_sources[0], all_sources[1]}) {
    INFO(source.data);
    const DataSplit one = folder.load(source.data, source.model, 1, false);
    CHECK(contents(one.test) != contents(folder.load(source.data, source.model, 2, false).test));
    // The split of seed 1 is that of split_seed = 1, whatever the run's seed is.
    const DataSplit other = folder.load(source.data, source.model, 2, false, "split_seed = 1");
    CHECK(contents(one.test) == contents(other.test));
    CHECK(contents(one.validation) == contents(other.validation));
    CHECK(contents(one.test) == contents(folder.load(source.data, source.model, 2, true).test));
    CHECK(contents(one.test) !=
          contents(folder.load(source.data, source.model, 2, true, "split_seed = 5").test));
  }
}
