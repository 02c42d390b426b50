// What the source says about each field, by dotted path ("straggler.0.workers").
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

struct Reading {
  std::map<std::string, Place> places;  // of the given fields and tables
  std::set<std::string> wrong;          // fields and tables with an error of their own
  bool complete = true;                 // false: what is absent may stand in lines that could not be parsed

  std::string preset = {};                        // its name, when there is one
  std::optional<std::size_t> preset_source = {};  // of its fields

  bool given(const std::string& path) const { return places.contains(path); }
  bool by_preset(const std::string& path) const;
  // Whether the field's value is what the user meant; what depends on another one is not judged.
  bool reliable(const std::string& path) const;
};

}  // namespace psim
