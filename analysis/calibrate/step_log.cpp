#include "analysis/calibrate/step_log.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <regex>
#include <span>
#include <string_view>

#include "analysis/calibrate/tool_outputs.hpp"
#include "analysis/calibrate/trace_events.hpp"
#include "model/base/input.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

struct SecondsColumn {
  std::string_view name;
  double seconds;
};
constexpr std::array<SecondsColumn, 2> step_columns{{{"step_s", 1}, {"step_ms", 1e-3}}};
constexpr std::array<SecondsColumn, 2> compute_columns{{{"compute_s", 1}, {"compute_ms", 1e-3}}};

// Columns with a short name of their own, and the field of each.
struct ShortName {
  std::string_view name, field;
};
constexpr std::array<ShortName, 5> short_names{{{"workers", "cluster.workers"},
                                                {"servers", "cluster.servers"},
                                                {"consistency", "consistency"},
                                                {"steps", "training.steps"},
                                                {"seed", "seed"}}};
constexpr std::string_view model_column = "model_bytes", slow_column = "slowdown";

template <class Table>
const typename Table::value_type* row_of(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Table::value_type::name);
  return found == table.end() ? nullptr : &*found;
}

// Refuses a header with two of these columns.
template <class Table>
void refuse_two(const std::string& path, const Cells& header, const Table& columns) {
  Cells found;
  std::ranges::copy_if(header, std::back_inserter(found),
                       [&](std::string_view name) { return row_of(columns, name) != nullptr; });
  if (found.size() > 1) throw two_columns(path, found[0], found[1]);
}

double positive(std::string_view cell, std::string_view column, const std::string& place) {
  double value = 0;
  if (read(cell, value) != std::errc{} || !(value > 0) || std::isinf(value))
    throw LogError(fmt::format("{}: {} is no {}", place, in_backticks(cell), column), "a number above 0");
  return value;
}

}  // namespace

const std::string* LoggedRun::consistency() const {
  const auto found = std::ranges::find_if(fields, [](const auto& field) {
    return field.first == "consistency" || field.first.starts_with("consistency.");
  });
  return found == fields.end() ? nullptr : &found->second;
}

bool RunTable::is(const std::vector<std::string_view>& header) {
  const auto has = [&](std::string_view name) { return std::ranges::find(header, name) != header.end(); };
  return has("workers") && std::ranges::any_of(step_columns, [&](const auto& one) { return has(one.name); });
}

RunTable::RunTable(const std::string& path, const std::vector<std::string_view>& header)
    : header_(header.begin(), header.end()) {
  for (const std::string_view name : header) {
    const bool is_known = row_of(short_names, name) != nullptr || row_of(step_columns, name) != nullptr ||
                          row_of(compute_columns, name) != nullptr || name == model_column ||
                          name == slow_column || name.find('.') != std::string_view::npos;
    if (!is_known)
      throw LogError(
          fmt::format("{}: {} is no column of a table of runs", path, in_backticks(name)),
          "the columns are workers, servers, consistency, model_bytes, compute_s, slowdown, steps, "
          "step_s, and fields of the scenario such as messages.acknowledge");
  }
  refuse_two(path, header, step_columns);
  refuse_two(path, header, compute_columns);
}

void RunTable::add(const std::vector<std::string_view>& cells, const std::string& place) {
  if (cells.size() != header_.size())
    throw LogError(fmt::format("{}: {} values under {} columns", place, cells.size(), header_.size()),
                   "every line needs a value for each column; it may be empty");
  LoggedRun run;
  double computing = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = cells[i];
    const std::string& column = header_[i];
    if (cell.empty()) continue;
    if (const SecondsColumn* step = row_of(step_columns, column)) {
      run.step = positive(cell, column, place) * step->seconds;
      continue;
    }
    const auto put = [&](std::string_view field, std::string value) {
      run.fields.emplace_back(field, std::move(value));
    };
    if (const SecondsColumn* compute = row_of(compute_columns, column)) {
      computing = positive(cell, column, place) * compute->seconds;
      put("compute.time", fmt::format("\"{}s\"", computing));
    } else if (column == model_column)
      put("model.parameters", fmt::format("{:.0f}", std::ceil(positive(cell, column, place) / 4)));
    else if (column == slow_column && cell != "1")
      put("straggler", fmt::format("[{{workers = [0], slowdown = {}}}]", positive(cell, column, place)));
    else if (column != slow_column) {
      const ShortName* known = row_of(short_names, column);
      put(known != nullptr ? known->field : column, std::string(cell));
    }
  }
  if (!(run.step > 0))
    throw LogError(place + ": the run has no time of a step", "`step_s` is a number above 0");
  if (run.step < computing)
    throw LogError(fmt::format("{}: a step of {} s with a computation of {} s", place, run.step, computing),
                   "a step contains its computation, so its time is the longer one");
  runs_.push_back(std::move(run));
  lines_.emplace_back(cells.begin(), cells.end());
}

std::vector<LoggedRun> RunTable::runs() const {
  std::vector<LoggedRun> named = runs_;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    const auto cell = [column](const std::vector<std::string>& line) { return line[column]; };
    if (row_of(step_columns, header_[column]) != nullptr || header_[column].find('.') != std::string::npos ||
        std::ranges::all_of(lines_, [&](const auto& line) { return cell(line) == cell(lines_.front()); }))
      continue;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (!cell(lines_[i]).empty())
        named[i].name +=
            fmt::format("{}{} {}", named[i].name.empty() ? "" : ", ", header_[column], cell(lines_[i]));
    }
  }
  return named;
}

const double LoggedStep::unknown = std::numeric_limits<double>::quiet_NaN();

void StepLog::add(std::int64_t worker, std::int64_t step, const LoggedStep& durations) {
  constexpr double most_seconds = 1e9, most_bytes = 1e18;
  const auto is_impossible = [](double seconds) { return seconds < 0 || seconds > most_seconds; };
  if (std::isnan(durations.compute) || is_impossible(durations.compute) || is_impossible(durations.push) ||
      is_impossible(durations.pull) || is_impossible(durations.server) || durations.bytes < 0 ||
      durations.bytes > most_bytes) {
    ++counts_.impossible;
  } else if (durations.compute == 0) {
    ++counts_.zero;
  } else if (counts_.steps == most_steps) {
    ++counts_.beyond;
  } else if (workers_[worker].emplace(step, durations).second) {
    ++counts_.steps;
  } else {
    ++counts_.repeated;
  }
}

void ClusterLog::note(const std::string& path, const std::string& sentence, std::size_t count) {
  auto found = std::ranges::find(of_files, sentence, &FileNote::sentence);
  if (found == of_files.end()) {
    found = of_files.insert(found, {.path = path, .sentence = sentence, .place = notes.size()});
    notes.emplace_back();
  }
  ++found->files;
  found->count += count;
  std::string text = sentence;
  if (const std::size_t gap = text.find("{}"); gap != std::string::npos)
    text.replace(gap, 2, fmt::to_string(found->count));
  notes[found->place] = fmt::format(
      "{}{}: {}", found->path, found->files > 1 ? fmt::format(" and {} more", found->files - 1) : "", text);
}

std::int64_t ClusterLog::worker_of(const std::string& path, std::optional<std::int64_t> rank,
                                   std::int64_t number) {
  if (rank) return *rank;
  static const std::regex with_rank(R"((?:.*[^a-z])?(?:rank|worker)[-_.= ]?(\d{1,9})(?:\D.*)?)",
                                    std::regex::icase),
      of_cycle(R"((.+)\.\d+\.pt\.trace\.json(?:\.gz)?)");
  std::smatch parts;
  if (std::regex_match(path, parts, with_rank)) {
    note(path, "psim takes the worker's number from the file's name.");
    return last_number_in(parts[1]).value_or(number);
  }
  if (!std::regex_match(path, parts, of_cycle)) return number;
  const auto [known, is_new] = workers_of_names.emplace(parts[1], number);
  if (!is_new) note(path, "by its name a further cycle of a worker that another file began.");
  return known->second;
}

class InputStream::Buffer : public std::streambuf {
 public:
  Buffer(const std::filesystem::path& path, bool is_json) : name_(path.string()), is_json_(is_json) {
    const InputFile regular(path);  // refuses pipes and folders
    file_ = gzopen(name_.c_str(), "rb");
    if (file_ == nullptr) throw InputError(name_, "cannot be opened", "check its permissions");
  }
  ~Buffer() override { gzclose(file_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  int_type underflow() override {
    std::copy(rest_.begin(), rest_.end(), piece_.begin());
    const std::size_t kept = rest_.size();
    int got = gzread(file_, piece_.data() + kept, static_cast<unsigned>(piece_.size() - kept));
    if (got < 0) throw InputError(name_, "corrupt gzip data", "compress it with gzip again");
    int error = Z_OK;
    gzerror(file_, &error);
    if (error == Z_BUF_ERROR)
      throw InputError(name_, "the gzip data break off",
                       "copy the file again, or use what is there: gzip -dc FILE > PART");
    const bool is_end = got == 0;
    got += static_cast<int>(kept);
    rest_.clear();
    if (is_json_) got = repair({piece_.data(), static_cast<std::size_t>(got)}, is_end);
    if (got == 0) return is_end ? traits_type::eof() : underflow();
    const std::string_view mark = is_first_ ? "\xef\xbb\xbf" : "";  // of UTF-8, as spreadsheets write it
    is_first_ = false;
    const std::string_view piece(piece_.data(), static_cast<std::size_t>(got));
    const std::size_t skipped = piece.starts_with(mark) ? mark.size() : 0;
    if (skipped == piece.size()) return traits_type::eof();
    setg(piece_.data(), piece_.data() + skipped, piece_.data() + got);
    return traits_type::to_int_type(*gptr());
  }

  // Overwrites words that are no JSON. Returns the length without a last word that may go on, and keeps that.
  int repair(std::span<char> piece, bool is_end) {
    constexpr std::string_view punctuation = "{}[]:,\" \t\r\n";
    constexpr std::size_t longest = 64;
    std::size_t word = 0;  // its begin
    for (std::size_t i = 0; i <= piece.size(); ++i) {
      if (i < piece.size() && in_text_) {
        in_text_ = is_escaped_ || piece[i] != '"';
        is_escaped_ = !is_escaped_ && piece[i] == '\\';
        word = i + 1;
      } else if (i == piece.size() || punctuation.find(piece[i]) != std::string_view::npos) {
        if (i == piece.size() && !is_end && i - word < longest) break;
        if (const auto text = piece.subspan(word, i - word); is_no_json({text.data(), text.size()})) {
          std::ranges::fill(text, ' ');
          text.front() = '0';
        }
        in_text_ = i < piece.size() && piece[i] == '"';
        word = i + 1;
      }
    }
    if (word >= piece.size()) return static_cast<int>(piece.size());
    rest_.assign(piece.begin() + static_cast<std::ptrdiff_t>(word), piece.end());
    return static_cast<int>(word);
  }
  static bool is_no_json(std::string_view word) {
    static const std::regex form("[-+]?(inf|nan).*", std::regex::icase);
    return !word.empty() && std::string_view("+-iInN").find(word.front()) != std::string_view::npos &&
           std::regex_match(word.begin(), word.end(), form);
  }

  std::string name_, rest_;  // `rest_`: a word at the end of the last piece
  bool is_json_, in_text_ = false, is_escaped_ = false;
  gzFile file_ = nullptr;
  bool is_first_ = true;
  std::array<char, 1 << 18> piece_{};
};

InputStream::InputStream(const std::filesystem::path& path, bool is_json)
    : std::istream(nullptr), buffer_(std::make_unique<Buffer>(path, is_json)) {
  rdbuf(buffer_.get());
  exceptions(badbit);  // otherwise the stream would hide a read error
}

InputStream::~InputStream() = default;

}  // namespace psim::calibrate
