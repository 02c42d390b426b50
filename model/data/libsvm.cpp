// LIBSVM's text format (Chang, Lin 2011): a line per sample, `label index:value index:value ...`, with rising
// indices from 1, or from 0 if index 0 occurs; text after a # is a comment. Two classes: +1 and -1, or 1 and
// 0.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "model/data/files.hpp"
#include "model/data/text.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace {

// A larger index is a mistake; its model would not fit in memory either.
constexpr std::uint32_t index_max = 1U << 30U;

class LibsvmReader {
 public:
  explicit LibsvmReader(std::string name) : name_(std::move(name)) {}

  void take(std::string_view line) {
    ++line_;
    const bool comment = line.find('#') != std::string_view::npos;
    line = trim(cut(line, '#'));
    if (line.empty()) {
      if (blank_ == 0 && !comment) blank_ = line_;
      return;
    }
    if (blank_ != 0) {
      line_ = blank_;
      refuse("empty line between samples");
    }
    read_sample(line);
    check_values(fmt::format("{}:{}", name_, line_), data_.sparse_inputs.index.size() + data_.labels.size());
  }
  Dataset finish() {
    if (data_.labels.empty()) throw DataError(name_ + ": holds no samples");
    if (data_.sparse_inputs.cols == 0) throw DataError(name_ + ": holds no features");
    if (from_zero_) {
      ++data_.sparse_inputs.cols;
      data_.notes.push_back({name_ + ": indices begin at 0", "psim then takes index i for feature i"});
    } else {
      for (std::uint32_t& index : data_.sparse_inputs.index) --index;
    }
    data_.classes = 2;
    return std::move(data_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(fmt::format("{}:{}: {}", name_, line_, what));
  }

  void read_sample(std::string_view rest) {
    data_.labels.push_back(label(next_word(rest)));
    index_.clear();
    value_.clear();
    while (!rest.empty()) read_feature_of_sample(next_word(rest));
    if (!index_.empty())
      data_.sparse_inputs.cols = std::max<std::int64_t>(data_.sparse_inputs.cols, index_.back());
    data_.sparse_inputs.add_row({index_, value_});
  }

  static std::string_view next_word(std::string_view& rest) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = trim(rest.substr(end));
    return word;
  }

  std::int32_t label(std::string_view word) {
    std::string_view digits = word;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    double value = 0.0;
    const bool is_number = read(digits, value) == std::errc{};
    if (!is_number || (value != 1 && value != 0 && value != -1))
      refuse(fmt::format("the label must be +1 or -1, or 1 or 0, not {}", in_backticks(word)));
    if (value == 1) return 1;
    if (negative_ != 1 && value != negative_) refuse("labels 0 and -1 in one file");
    negative_ = value;
    return 0;
  }

  void read_feature_of_sample(std::string_view word) {
    std::string_view rest = word;
    const std::string_view index_text = cut(rest, ':');
    std::uint32_t index = 0;
    if (word.find(':') == std::string_view::npos || read(index_text, index) != std::errc{} ||
        index > index_max)
      refuse(fmt::format("not `index:value` with an index from 0 to {}: {}", index_max, in_backticks(word)));
    if (!index_.empty() && index <= index_.back())
      refuse(fmt::format("index {} comes after {}; indices must rise", index, index_.back()));
    float value = 0.0F;
    if (const std::string problem = read_feature(rest, value); !problem.empty()) refuse(problem);
    from_zero_ = from_zero_ || index == 0;
    index_.push_back(index);
    value_.push_back(value);
  }

  std::string name_;
  std::int64_t line_ = 0, blank_ = 0;  // blank: the first empty line
  double negative_ = 1;                // the file's label of the other class; 1: not seen yet
  std::vector<std::uint32_t> index_;
  std::vector<float> value_;
  Dataset data_;
  bool from_zero_ = false;
};

}  // namespace

Dataset load_libsvm(const std::filesystem::path& path, const Folders& search) {
  const std::filesystem::path found = find_file(path, search);
  LibsvmReader reader(found.string());
  each_line(found, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

}  // namespace psim
