#include "analysis/calibrate/tool_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/data/text.hpp"

namespace psim::calibrate {
void add_transfer(const Transfer& one, const std::string& place, ClusterLog& log) {
  if (!(one.bytes > 0) || !(one.seconds > 0) || std::isinf(one.bytes) || std::isinf(one.seconds))
    throw LogError(fmt::format("{}: {} bytes in {} s", place, one.bytes, one.seconds),
                   "both must be above 0");
  log.transfers.push_back(one);
}

void check_transfers(const std::string& path, const Reason& usual, const std::vector<Reason>& reasons,
                     std::size_t before, ClusterLog& log) {
  const Reason& first = reasons.empty() ? usual : reasons.front();
  if (log.transfers.size() == before) throw LogError(path + ": " + first.what, first.help);
  for (const Reason& one : reasons) log.note(path, one.what + "; that test does not count.");
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
