#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/calibrate/tool_outputs.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

bool has(const Cells& cells, std::string_view one) { return std::ranges::find(cells, one) != cells.end(); }

struct Row {
  double bytes, us, algorithm, bus;  // bandwidths in GB/s
  std::string place;
};

struct Table {
  std::size_t ranks;  // 0: unknown
  std::string test;   // such as sendrecv_perf; may be empty
  bool has_operation, has_root, is_of_processor;
  // The rows may have a root, a reduction, and a check of the operation in place.
  bool is_rooted = false, reduces = false, checks_in_place = false;
  std::size_t wrong = 0;  // rows with wrong results
  std::vector<Row> rows = {};

  // `type`: the column after size and count. The columns of operation and root may be missing or empty.
  void take(const Cells& cells, std::size_t type, const std::string& place) {
    const auto cell = [&](std::size_t i) { return i < cells.size() ? cells[i] : std::string_view(); };
    std::size_t at = type + 1;
    if (has_operation && !number_in(cell(at))) reduces = cell(at++) != "none";
    if (has_root) is_rooted = cell(at++) != "-1";
    const std::optional<double> bytes = number_in(cells[type - 2]), us = number_in(cell(at)),
                                algorithm = number_in(cell(at + 1)), bus = number_in(cell(at + 2));
    if (!(*bytes > 0) || !us || !algorithm || !bus) return;
    rows.push_back({*bytes, *us, *algorithm, *bus, place});
    wrong += number_in(cell(at + 3)).value_or(0) >= 1 ? 1 : 0;
    checks_in_place = checks_in_place || number_in(cell(at + 7));
  }

  // Whether each process sends one message. An all-reduce of two ranks has the same columns as sendrecv_perf,
  // but only its operation in place is checked.
  bool is_single(double factor, const std::string& path) const {
    if (factor != 1 || is_rooted) return false;
    if (!test.empty()) return test.find("sendrecv") != std::string::npos;
    return !reduces || ranks > 2 || !checks_in_place || path.find("sendrecv") != std::string::npos;
  }

  std::optional<Reason> put(const std::string& path, ClusterLog& log) const {
    // The largest bandwidth tells the factor best, because it is rounded least.
    const Row& best = *std::ranges::max_element(rows, {}, &Row::algorithm);
    constexpr double well_rounded = 0.05;
    if (ranks == 1 || (best.bus == 0 && best.algorithm >= well_rounded))
      return Reason{"the test of nccl-tests ran on one rank, which sends nothing over a link",
                    "run it on two ranks or more, with -g 2 or with mpirun and MPI=1"};
    if (is_of_processor) return Reason{"nccl-tests has measured the processor's time", "run it without -C"};
    if (!(best.bus > 0))
      return Reason{"every busbw of nccl-tests is 0", "measure larger sizes too, for example -e 128M"};
    const double factor = best.bus / best.algorithm;
    const bool single = is_single(factor, path);
    for (const Row& row : rows)
      add_transfer({.bytes = row.bytes * factor,
                    .seconds = row.us / 1e6,
                    .kind = single ? Transfer::Kind::message : Transfer::Kind::collective},
                   row.place, log);
    log.note(
        path,
        fmt::format("psim takes the bandwidth of a link from busbw, which is {:.3g} times algbw.{}", factor,
                    single ? "" : " A collective operation tells nothing about the latency of a link."));
    if (wrong > 0) log.note(path, "sizes with wrong results: {}; their times count.", wrong);
    return {};
  }
};

}  // namespace

bool read_nccl(const std::string& path, ClusterLog& log) {
  std::vector<Table> tables;
  std::size_t ranks = 0;
  std::string test;
  Lines lines(path);
  while (lines.next_of_any_kind()) {
    const Cells cells = cells_of(lines.text(), ' ');
    if (has(cells, "busbw") && (has(cells, "size") || has(cells, "bytes"))) {
      tables.push_back(
          {ranks, test, has(cells, "redop") || has(cells, "op"), has(cells, "root"), has(cells, "cputime")});
      ranks = 0, test.clear();
    } else if (has(cells, "devices")) {
      ranks = 0;
    } else if (has(cells, "Rank")) {
      ++ranks;
    } else if (has(cells, "starting:")) {
      test = cells.back();
    } else if (!tables.empty()) {
      // Before size, count and type there may be words of a launcher.
      for (std::size_t type = 2; type < cells.size(); ++type) {
        if (number_in(cells[type]) || !number_in(cells[type - 1]) || !number_in(cells[type - 2])) continue;
        tables.back().take(cells, type, lines.place());
        break;
      }
    }
  }
  const std::size_t before = log.transfers.size();
  std::vector<Reason> reasons;
  for (const Table& table : tables) {
    if (table.rows.empty()) continue;
    if (const std::optional<Reason> reason = table.put(path, log)) reasons.push_back(*reason);
  }
  if (!tables.empty())
    check_transfers(path, {"nccl-tests has measured nothing", "the table has a line for each size"}, reasons,
                    before, log);
  return !tables.empty();
}

}  // namespace psim::calibrate
