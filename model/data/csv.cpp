// Tables of numbers, one sample a row, with commas, semicolons or tabs between cells and quotes around them
// (RFC 4180). One column is the class: integers, or names, which psim numbers. The first line is a header if
// none of its cells is a number, or if the scenario names one of its cells; so a typing error in the first
// sample is an error, not a header.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "model/data/files.hpp"
#include "model/data/text.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace {

// Each class is an output of the model, so a label beyond this is a mistake (often a wrong column).
constexpr std::int32_t label_max = 65535;

std::string with_point(std::string cell) {
  std::ranges::replace(cell, ',', '.');
  return cell;
}

// Also with a decimal comma, so that a row of such numbers is no header.
bool is_number(std::string_view cell) {
  double ignored = 0.0;
  return read(std::string_view(with_point(std::string(cell))), ignored) != std::errc::invalid_argument;
}

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 10> names{"",  "NA",   "N/A",  "NaN",  "nan",
                                                   "?", "NULL", "null", "None", "-"};
  return std::ranges::find(names, cell) != names.end();
}

// Mistakes in the rows of a file. Those of the same kind in the same column are one, with all its lines.
class Mistakes {
 public:
  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  void add(std::size_t column, std::string_view kind, DataProblem problem) {
    const auto [known, fresh] = known_.try_emplace({column, kind}, problems_.size(), 0);
    auto& [place, more] = known->second;
    if (fresh) {
      problems_.push_back(std::move(problem));
      if (problems_.size() == 100) check();
    } else if (std::string& label = problems_[place].label; more++ < 5) {
      label += fmt::format("{}{}", more == 1 ? "" : ", ", problem.line);
    }
  }
  // Throws a DataError with all of them.
  void check() {
    if (problems_.empty()) return;
    for (const auto& [key, known] : known_) {
      const auto& [place, more] = known;
      std::string& label = problems_[place].label;
      if (more > 0)
        label = fmt::format("also in line{} {}{}", more > 1 ? "s" : "", label,
                            more > 5 ? fmt::format(" and {} more", more - 5) : "");
    }
    std::string what;
    for (const DataProblem& one : problems_)
      what += fmt::format("{}{}:{}: {}", what.empty() ? "" : "\n", file_, one.line, one.message);
    DataError error(what, problems_.front().help);
    error.file = file_;
    error.problems = std::move(problems_);
    throw error;
  }

 private:
  std::string file_;
  // By column and kind: the place in problems_, and how often it came again.
  std::map<std::pair<std::size_t, std::string_view>, std::pair<std::size_t, std::int64_t>> known_;
  std::vector<DataProblem> problems_;
};

class CsvReader {
 public:
  CsvReader(const std::string& name, const DataSpec& spec) : name_(name), spec_(spec), mistakes_(name) {}

  void take(std::string_view line) {
    if (++line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // spreadsheets write this
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line_ == 1) find_separator(line);
    if (!is_quoted_ && trim(line).empty()) {
      if (blank_ == 0) blank_ = line_;
      return;
    }
    if (blank_ != 0)
      mistakes_.add(0, "blank", {blank_, "", 0, 0, "empty line between samples", "", "remove it"});
    blank_ = 0;
    if (split(line)) take_row();
  }

  Dataset finish() {
    if (is_quoted_) refuse({}, "quote", "a quote is never closed", "a quote inside of a cell is \"\"");
    mistakes_.check();
    if (labels_.empty()) throw DataError(name_ + ": holds no samples");
    Dataset data;
    data.inputs = Eigen::Map<const SampleMatrix>(values_.data(), std::ssize(labels_), std::ssize(features_));
    number_classes(data);
    return data;
  }
  const std::vector<Column>& features() const { return features_; }

 private:
  struct Cell {
    std::string text;
    std::size_t begin = 0, end = 0;  // in the row
  };

  void find_separator(std::string_view line) {
    bool is_quoted = false;
    for (const char c : line) {
      is_quoted = is_quoted != (c == '"');
      if (!is_quoted && (c == '\t' || (c == ';' && separator_ == ','))) separator_ = c;
      if (c == '\r' || c == '\xff')
        throw DataError(name_ + ": no text in UTF-8 with line feeds", "save it as CSV in UTF-8");
    }
  }

  // Divides a line into cells. Returns false if a quoted cell goes on in the next line.
  bool split(std::string_view line) {
    if (!is_quoted_) row_.clear(), cells_.assign(1, {}), begun_ = line_;
    const std::size_t before = row_.size();
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      std::string& text = cells_.back().text;
      if (c == '"' && is_quoted_ && line.substr(i + 1).starts_with('"')) text += line[++i];
      else if (c == '"' && (is_quoted_ || trim(text).empty())) is_quoted_ = !is_quoted_;
      else if (c == separator_ && !is_quoted_) {
        cells_.back().end = before + i;
        cells_.push_back({"", before + i + 1, 0});
      } else text += c;
    }
    cells_.back().end = before + line.size();
    row_ += line;
    if (!is_quoted_) return true;
    row_ += '\n';
    cells_.back().text += '\n';
    constexpr std::size_t most = 1'000'000;  // bytes of a row whose cells contain line feeds
    if (row_.size() > most) finish();
    return false;
  }

  // A mistake in a cell, or with column 0 in the whole row.
  void refuse(const Column& column, std::string_view kind, std::string_view what, std::string help) {
    const Cell whole{"", 0, std::min(row_.find('\n'), row_.size())};
    const Cell& cell = column.number == 0 ? whole : cells_[column.number - 1];
    mistakes_.add(
        column.number, kind,
        {begun_, row_, cell.begin, cell.end,
         fmt::format("{}{}", column.number == 0 ? "" : column.shown() + ": ", what), "", std::move(help)});
  }

  void take_row() {
    if (columns_.empty() && begin()) return;
    if (cells_.size() != columns_.size())
      return refuse({}, "cells",
                    fmt::format("the number of columns is {}, expected {}", cells_.size(), columns_.size()),
                    "a cell that contains the separator needs quotes");
    for (const Column& column : features_) take_feature(column, trim(cells_[column.number - 1].text));
    take_label(columns_[label_], trim(cells_[label_].text));
    check_values(fmt::format("{}:{}", name_, line_), values_.size() + labels_.size());
  }

  // Takes the first row; false: it is a sample.
  bool begin() {
    const auto is_name = [&](const std::string& name) {
      return !is_number(name) &&
             std::ranges::any_of(cells_, [&](const Cell& cell) { return trim(cell.text) == name; });
    };
    const bool is_header =
        std::ranges::none_of(cells_, [](const Cell& cell) { return is_number(trim(cell.text)); }) ||
        (!spec_.label.empty() && is_name(spec_.label)) || std::ranges::any_of(spec_.drop, is_name);
    for (const Cell& cell : cells_)
      columns_.push_back({columns_.size() + 1, is_header ? std::string(trim(cell.text)) : ""});
    std::vector<bool> dropped(columns_.size());
    for (const std::string& name : spec_.drop) dropped[column_of(name, "drop", is_header)] = true;
    if (!spec_.label.empty()) label_ = column_of(spec_.label, "label", is_header);
    else
      for (std::size_t c = 0; c < columns_.size(); ++c) label_ = dropped[c] ? label_ : c;
    for (const Column& column : columns_) {
      if (!dropped[column.number - 1] && column.number - 1 != label_) features_.push_back(column);
    }
    if (features_.empty() || dropped[label_])
      throw DataError(fmt::format("{}:{}: a sample needs at least two columns: a feature and the class label",
                                  name_, begun_),
                      "psim looks for commas, semicolons and tabs between columns",
                      spec_.drop.empty() ? "" : "drop");
    return is_header;
  }

  std::size_t column_of(const std::string& name, std::string_view field, bool has_header) const {
    std::string all;
    for (const Column& column : columns_) {
      if (has_header && column.name == name) return column.number - 1;
      all += (all.empty() ? "its columns: " : ", ") + column.key();
    }
    std::size_t number = 0;
    if (read(std::string_view(name), number) == std::errc{} && number >= 1 && number <= columns_.size())
      return number - 1;
    throw DataError(fmt::format("{} has no column {}", name_, in_backticks(name)),
                    has_header ? all.substr(0, 500)
                               : fmt::format("it has no header: give a number from 1 to {}", columns_.size()),
                    field);
  }

  bool has_value(const Column& column, std::string_view cell) {
    if (!is_missing(cell)) return true;
    refuse(column, "missing", "no value",
           fmt::format("psim fills no gaps: write a value, remove the line, or drop = [{}] in [data]",
                       column.key()));
    return false;
  }

  void take_feature(const Column& column, std::string_view cell) {
    values_.push_back(0);
    const std::string problem = read_feature(cell, values_.back());
    if (problem.empty() || !has_value(column, cell)) return;
    const bool has_comma = is_number(cell) && cell.find(',') != std::string_view::npos;
    refuse(column, has_comma ? "comma" : "number", problem,
           has_comma     ? "write a decimal point: " + with_point(std::string(cell))
           : begun_ == 1 ? "if this line is a header, label = \"NAME\" in [data] says so"
                         : fmt::format("correct it, or drop = [{}] in [data]", column.key()));
  }

  void take_label(const Column& column, std::string_view cell) {
    double value = 0;
    const bool is_name = read(cell, value) != std::errc{};
    labels_.push_back(0);
    if (is_missing(cell)) return void(has_value(column, cell));
    if (!is_name && (value != std::floor(value) || std::abs(value) > label_max))
      return refuse(column, "class",
                    fmt::format("the class label is an integer from 0 to {} or a name, not {}", label_max,
                                in_backticks(cell)),
                    "label = \"NAME\" or a number in [data] chooses another column");
    if (first_label_ == 0) first_label_ = begun_, has_names_ = is_name;
    if (is_name != has_names_)
      return refuse(column, "mixed",
                    fmt::format("the label is {}, but that of line {} is a {}", in_backticks(cell),
                                first_label_, has_names_ ? "name" : "number"),
                    "labels are all integers or all names; label = \"NAME\" in [data] makes line 1 a header");
    const std::pair<double, std::string> key{is_name ? 0 : value, is_name ? cell : ""};
    labels_.back() = classes_.try_emplace(key, static_cast<std::int32_t>(classes_.size())).first->second;
    if (std::ssize(classes_) > label_max)
      throw DataError(fmt::format("{}:{}: more than {} classes", name_, line_, label_max),
                      "label = \"NAME\" or a number in [data] chooses another column");
  }

  // Integers from 0 stand for themselves. Other labels have numbers in the order of the integers, or of the
  // bytes of the names.
  void number_classes(Dataset& data) {
    const bool as_they_are = !has_names_ && classes_.begin()->first.first >= 0;
    std::vector<std::int32_t> numbers(classes_.size());
    std::string text;
    for (const auto& [label, found] : classes_) {
      numbers[static_cast<std::size_t>(found)] =
          as_they_are ? static_cast<std::int32_t>(label.first) : data.classes;
      if (data.classes < 10)
        text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", data.classes,
                            has_names_ ? label.second : fmt::to_string(label.first));
      ++data.classes;
    }
    if (!as_they_are)
      data.notes.push_back({fmt::format("the class of {}: {}{}", columns_[label_].shown(), text,
                                        data.classes > 10 ? ", ..." : ""),
                            ""});
    for (std::int32_t& label : labels_) label = numbers[static_cast<std::size_t>(label)];
    data.labels = std::move(labels_);
    data.classes = *std::ranges::max_element(data.labels) + 1;
  }

  std::string name_;
  const DataSpec& spec_;
  Mistakes mistakes_;
  char separator_ = ',';
  std::int64_t line_ = 0, begun_ = 0, blank_ = 0;  // now, of the row's begin, the first empty line after it
  bool is_quoted_ = false;                         // the last cell of the row goes on
  std::string row_;
  std::vector<Cell> cells_;
  std::vector<Column> columns_, features_;
  std::size_t label_ = 0;                                           // its column
  std::int64_t first_label_ = 0;                                    // its line
  bool has_names_ = false;                                          // the labels are names
  std::map<std::pair<double, std::string>, std::int32_t> classes_;  // numbered as they come
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

Dataset parse_csv(std::string_view text, const std::string& name) {
  const DataSpec as_it_is;
  CsvReader reader(name, as_it_is);
  while (!text.empty()) reader.take(cut(text, '\n'));
  return reader.finish();
}

Dataset load_csv(const DataSpec& spec, const Folders& search) {
  const std::filesystem::path found = find_file(spec.path, search);
  CsvReader reader(found.string(), spec);
  each_line(found, [&](std::string_view line) { reader.take(line); });
  Dataset data = reader.finish();
  note_columns(data, reader.features(), spec.standardize);
  return data;
}

}  // namespace psim
