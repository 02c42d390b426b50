// Comma separated numbers, one sample per line; the last column is the class label, an integer from 0. Cells
// cannot be quoted. The first line is a header if none of its cells is a number; so a typing error in the
// first sample is an error, not a header.
#include <algorithm>
#include <vector>

#include "model/data/sources.hpp"
#include "model/data/text.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace {

// Each class is an output of the model, so a label beyond this is a mistake (often a wrong column).
constexpr std::int32_t label_max = 65535;

class CsvReader {
 public:
  explicit CsvReader(std::string name) : name_(std::move(name)) {}

  void take(std::string_view line) {
    ++line_;
    if (line_ == 1 && line.starts_with("\xef\xbb\xbf"))
      line.remove_prefix(3);  // spreadsheets write this mark
    line = trim(line);
    if (line.empty()) {
      if (blank_ == 0) blank_ = line_;
      return;
    }
    if (blank_ != 0) {
      line_ = blank_;
      refuse("empty line between samples");
    }
    split(line);
    if (columns_ == 0) {
      columns_ = cells_.size();
      if (is_header()) return;
    }
    read_sample();
  }
  Dataset finish() {
    if (labels_.empty()) throw DataError(name_ + ": holds no samples");
    return dataset();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    const std::string column = column_ == 0 ? "" : "column " + std::to_string(column_) + ": ";
    throw DataError(name_ + ":" + std::to_string(line_) + ": " + column + what,
                    line_ == 1 && column_ > 0 ? "a header has no numbers" : "");
  }

  void split(std::string_view line) {
    cells_.clear();
    const auto commas = std::count(line.begin(), line.end(), ',');
    for (std::ptrdiff_t i = 0; i <= commas; ++i) cells_.push_back(trim(cut(line, ',')));
  }

  bool is_header() const {
    return std::ranges::all_of(cells_, [](std::string_view cell) {
      double ignored = 0.0;
      return read(cell, ignored) == std::errc::invalid_argument;
    });
  }

  void read_sample() {
    if (cells_.size() != columns_)
      refuse("the number of columns is " + std::to_string(cells_.size()) + ", expected " +
             std::to_string(columns_));
    if (columns_ < 2) refuse("a sample needs at least two columns: a feature and the class label");
    for (column_ = 1; column_ < columns_; ++column_) values_.push_back(feature(cells_[column_ - 1]));
    labels_.push_back(label(cells_.back()));
    column_ = 0;
    check_values(name_ + ":" + std::to_string(line_), values_.size() + labels_.size());
  }

  float feature(std::string_view cell) const {
    float value = 0.0F;
    if (const std::string problem = read_feature(cell, value); !problem.empty()) refuse(problem);
    return value;
  }

  std::int32_t label(std::string_view cell) const {
    std::int32_t value = -1;
    if (read(cell, value) != std::errc{} || value < 0 || value > label_max)
      refuse("the last column is the class label, an integer from 0 to " + std::to_string(label_max) +
             ", not " + in_backticks(cell));
    return value;
  }

  Dataset dataset() const {
    const auto rows = static_cast<Eigen::Index>(labels_.size());
    const auto features = static_cast<Eigen::Index>(columns_ - 1);
    Dataset data;
    data.inputs = Eigen::Map<const SampleMatrix>(values_.data(), rows, features);
    data.labels = labels_;
    data.classes = *std::max_element(labels_.begin(), labels_.end()) + 1;
    return data;
  }

  std::string name_;
  std::int64_t line_ = 0, blank_ = 0;  // blank: the first empty line
  std::size_t columns_ = 0;
  std::size_t column_ = 0;  // the current column, from 1; 0: the whole line
  std::vector<std::string_view> cells_;
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

Dataset load_csv(const std::filesystem::path& path, const Folders& search) {
  const std::filesystem::path found = find_file(path, search);
  CsvReader reader(found.string());
  each_line(found, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

Dataset parse_csv(std::string_view text, const std::string& name) {
  CsvReader reader(name);
  while (!text.empty()) reader.take(cut(text, '\n'));
  return reader.finish();
}

}  // namespace psim
