// The source of samples, and their division.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/data_source.hpp"
#include "model/model_spec.hpp"

namespace psim {

enum class Partition { iid, contiguous, by_label, dirichlet };

struct DataSpec {
  DataSource source = {};          // digits
  Settings settings = {};          // of the source
  std::string path;                // csv, libsvm: the file; idx: the folder with the four files
  std::string label;               // csv: name or number of the column with the class; empty: the last one
  std::vector<std::string> drop;   // csv: names or numbers of columns that are no features
  bool standardize = false;        // csv: features in units of their standard deviation, around their mean
  double test_fraction = 0.2;      // share of the samples for the test; idx has its own test files
  double validation_fraction = 0;  // share of the remaining samples on which a run is judged while it runs
  std::optional<std::int64_t> split_seed =
      {};                       // draws the test and validation samples; none: the run's seed does
  std::int64_t samples = 1000;  // blobs, spirals, teacher, clicks: how many to generate
  std::int64_t features = 2;    // blobs, teacher: inputs per sample; clicks: of all samples together
  std::int64_t classes = 3;     // blobs, spirals: classes; teacher: outputs
  double noise = 0.1;           // blobs, spirals: spread of a sample; teacher, clicks: noise of a target
  double exponent = 1.1;        // clicks: of Zipf's law
  std::int64_t nonzeros = 20;   // clicks: features of a sample
  std::vector<std::vector<double>> inputs;   // inline
  std::vector<std::vector<double>> targets;  // inline
  Partition partition = Partition::iid;
  double dirichlet_alpha = 0.5;  // dirichlet: small means that a worker sees few classes
};

// A mistake in bytes `begin` to `end` of a text of a data file, which begins in line `line`.
struct DataProblem {
  std::int64_t line = 0;
  std::string text;
  std::size_t begin = 0, end = 0;
  std::string message, label, help;
};

// A data set that psim cannot read: names the file and the reason.
struct DataError : std::runtime_error {
  explicit DataError(const std::string& what, std::string advice = {}, std::string_view blamed = {})
      : std::runtime_error(what), help(std::move(advice)), field(blamed) {}
  std::string help;
  std::string field;  // the DataSpec's field with the mistake; empty: the source of the samples
  std::string file = {};
  std::vector<DataProblem> problems = {};  // in lines of `file`; may be empty
};

// A remark for the user about data that psim can read.
struct DataNote {
  std::string message, help;
};

enum class DataPart { training, validation, test };
constexpr std::string_view name_of(DataPart part) {
  return std::array<std::string_view, 3>{"training", "validation", "test"}[static_cast<std::size_t>(part)];
}

// The sizes of a data set. Checks need them, and they are often known before the data set exists.
struct Dataset;

// The sizes of a training set.
struct DataShape {
  std::int64_t samples = 0, features = 0;
  std::int64_t outputs = 0;    // width of the model's last layer
  bool classification = true;  // outputs are classes
  double nonzeros = 0;         // sparse data: mean number per sample
};
DataShape shape_of(const Dataset& train);

// The shape that load_data will return, if it is known without loading: for generated data.
std::optional<DataShape> known_shape(const DataSpec& spec);

// Like adapt_to(const Dataset&, ModelSpec&).
void adapt_to(const DataShape& train, ModelSpec& spec);

}  // namespace psim
