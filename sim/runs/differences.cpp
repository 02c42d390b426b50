#include "sim/runs/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace psim {
namespace {

// The name of a value as users write it: "workers.0.time.total_s" for "/workers/0/time/total_s".
std::string dotted(std::string pointer) {
  std::ranges::replace(pointer, '/', '.');
  return pointer.substr(pointer.empty() ? 0 : 1);
}

// Properties of the program, not of the run. A difference here causes only a note.
constexpr std::array<const char*, 5> of_the_program{"psim", "cpu_family", "libraries", "build",
                                                    "scenario_hash"};

}  // namespace

std::string first_difference(const Json& recorded, const Json& now) {
  const Json changes = Json::diff(recorded, now);
  if (changes.empty()) return {};
  const std::string place = changes[0]["path"];
  const auto value_in = [&place](const Json& document) {
    const Json::json_pointer pointer(place);
    return document.contains(pointer) ? document.at(pointer).dump() : std::string("nothing");
  };
  return fmt::format("first value of summary.json that differs: {}\n  now:      {}\n  recorded: {}\n",
                     dotted(place), value_in(now), value_in(recorded));
}

std::string notes_on_program(const Json& recorded, const Json& now) {
  std::string notes;
  for (const char* key : of_the_program) {
    const std::string then = recorded.contains(key) ? recorded[key].dump() : "nothing";
    if (then != now[key].dump())
      notes += fmt::format("note: recorded with {} {}, this is {}\n", key, then, now[key].dump());
  }
  return notes;
}

Json without_program(Json summary) {
  for (const char* key : of_the_program) summary.erase(key);
  return summary;
}

}  // namespace psim
