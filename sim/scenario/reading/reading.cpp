#include "sim/scenario/reading/reading.hpp"

#include "sim/scenario/reading/reader_text.hpp"

namespace psim {

bool Reading::by_preset(const std::string& path) const {
  const auto place = places.find(path);
  return place != places.end() && preset_source == place->second.source;
}

bool Reading::reliable(const std::string& path) const {
  const auto inner = wrong.lower_bound(path + ".");
  if (inner != wrong.end() && inner->starts_with(path + ".")) return false;
  for (std::string around = path; !around.empty(); around = parent_of(around)) {
    if (wrong.contains(around)) return false;
  }
  return complete || (given(path) && !by_preset(path));
}

}  // namespace psim
