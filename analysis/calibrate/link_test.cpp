#include "analysis/calibrate/link_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

void add_transfer(const Transfer& one, const std::string& place, ClusterLog& log) {
  if (!(one.bytes > 0) || !(one.seconds > 0) || std::isinf(one.bytes) || std::isinf(one.seconds))
    throw LogError(fmt::format("{}: {} bytes in {} s", place, one.bytes, one.seconds),
                   "both must be above 0");
  log.transfers.push_back(one);
}

// The tables of nccl-tests in one file. Their comments name the columns; psim takes those of the out-of-place
// operation.
class NcclTables {
 public:
  void take_header(const Cells& cells) {
    const auto place = [&](std::string_view name) { return std::ranges::find(cells, name) - cells.begin(); };
    if (place("size") == std::ssize(cells) || place("busbw") == std::ssize(cells)) return;
    const auto first = place("size");
    time_ = static_cast<std::size_t>(place("time") - first);
    operation_ = static_cast<std::size_t>(place("redop") - first);
    root_ = static_cast<std::size_t>(place("root") - first);
    tables_.emplace_back();
  }

  void take(const Cells& cells, const std::string& place) {
    if (time_ == 0 || cells.size() < time_ + 3) return;
    const std::optional<double> bytes = number_in(cells[0]), us = number_in(cells[time_]),
                                algorithm = number_in(cells[time_ + 1]), bus = number_in(cells[time_ + 2]);
    if (!bytes || !us || !algorithm || !bus || !(*bytes > 0)) return;
    Table& table = tables_.back();
    if (*algorithm > table.most_algorithm) {
      table.most_algorithm = *algorithm;
      table.factor = *bus / *algorithm;
    }
    const auto is = [&](std::size_t column, std::string_view usual) {
      return column >= time_ || cells[column] == usual;
    };
    table.is_single = table.is_single && is(operation_, "none") && is(root_, "-1");
    table.rows.push_back({{.bytes = *bytes, .seconds = *us / 1e6}, place});
  }

  void put(const std::string& path, ClusterLog& log) const {
    if (std::ranges::all_of(tables_, [](const Table& one) { return one.rows.empty(); }))
      throw LogError(path + ": nccl-tests has measured nothing", "the table has a line for each size");
    for (const Table& table : tables_) {
      if (!table.rows.empty()) put(table, path, log);
    }
  }

 private:
  struct Table {
    double most_algorithm = 0,
           factor = 0;      // the largest bandwidth tells the factor best: it is rounded least
    bool is_single = true;  // each process sends one message
    std::vector<std::pair<Transfer, std::string>> rows = {};  // with their places
  };

  static void put(const Table& table, const std::string& path, ClusterLog& log) {
    if (!(table.factor > 0))
      throw LogError(path + ": every busbw of nccl-tests is 0",
                     "measure larger sizes too, for example -e 128M");
    constexpr double rounding = 0.02;  // of bandwidths with two decimals
    const bool is_single = table.is_single && std::abs(table.factor - 1) < rounding;
    for (const auto& [row, place] : table.rows)
      add_transfer({.bytes = row.bytes * table.factor,
                    .seconds = row.seconds,
                    .kind = is_single ? Transfer::Kind::message : Transfer::Kind::collective},
                   place, log);
    log.notes.push_back(fmt::format(
        "{}: psim takes the bandwidth of a link from busbw, which is {:.3g} times algbw.{}", path,
        table.factor, is_single ? "" : " A collective operation tells nothing about the latency of a link."));
  }

  std::size_t time_ = 0, operation_ = 0, root_ = 0;  // columns of the last table
  std::vector<Table> tables_ = {};
};

double number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

bool is_iperf(std::string_view beginning) {
  return beginning.starts_with('{') && beginning.find("\"start\"") != std::string_view::npos &&
         beginning.find("\"connected\"") != std::string_view::npos;
}

bool is_nccl(std::string_view beginning) {
  return std::ranges::any_of(std::array{"nccl-tests", "busbw", "nThread"}, [&](const char* word) {
    return beginning.find(word) != std::string_view::npos;
  });
}

void read_nccl(const std::string& path, ClusterLog& log) {
  Lines lines(path);
  NcclTables tables;
  while (lines.next_of_any_kind()) {
    const Cells cells = cells_of(lines.text(), ' ');
    if (lines.is_comment()) tables.take_header(cells);
    else tables.take(cells, lines.place());
  }
  tables.put(path, log);
}

void read_iperf(const std::string& path, ClusterLog& log) {
  InputStream in(path);
  const auto document = nlohmann::json::parse(in, nullptr, false);
  if (document.is_discarded())
    throw LogError(path + ": the JSON of iperf3 breaks off", "let iperf3 end before you copy its output");
  double bytes = 0;
  std::vector<Transfer> spans;
  for (const auto& interval : document.value("intervals", nlohmann::json::array())) {
    if (!interval.is_object() || !interval.contains("sum")) continue;
    const auto& sum = interval["sum"];
    if (sum.is_object() && sum.value("omitted", nlohmann::json()) == true) continue;
    const Transfer one{
        .bytes = number_of(sum, "bytes"), .seconds = number_of(sum, "seconds"), .kind = Transfer::Kind::span};
    bytes += one.bytes;
    if (one.seconds > 0) spans.push_back(one);
  }
  if (!(bytes > 0)) throw LogError(path + ": iperf3 has measured no interval", "measure for some seconds");
  log.transfers.insert(log.transfers.end(), spans.begin(), spans.end());
  log.notes.push_back(
      path +
      ": iperf3 measures spans of equal length, which tell the bandwidth and nothing about the latency.");
}

void read_transfers(const std::string& path, const Cells& header, char separator, Lines& lines,
                    ClusterLog& log) {
  const auto place = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  const std::size_t bytes = place("bytes"), seconds = place("seconds");
  Cells others = header;
  std::erase_if(others, [](std::string_view name) { return name == "bytes" || name == "seconds"; });
  note_ignored(path, others, log);
  while (lines.next()) {
    const Cells cells = cells_of(lines.text(), separator);
    const bool is_whole = cells.size() == header.size();
    const std::optional<double> size = is_whole ? number_in(cells[bytes]) : std::nullopt,
                                time = is_whole ? number_in(cells[seconds]) : std::nullopt;
    if (!size || !time)
      throw LogError(fmt::format("{}: not a pair of numbers", lines.place()), "a line is a size and a time");
    add_transfer({.bytes = *size, .seconds = *time}, lines.place(), log);
  }
}

}  // namespace psim::calibrate
