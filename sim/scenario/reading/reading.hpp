// The given fields of a scenario and their errors, by dotted path ("straggler.0.workers").
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

struct Reading {
  std::map<std::string, Place> places;  // of the given fields and tables
  std::set<std::string> wrong;          // fields and tables that have an error themselves
  bool complete = true;                 // false: an absent field may be in lines that psim could not parse

  std::string preset = {};                        // the preset's name, if the scenario has one
  std::optional<std::size_t> preset_source = {};  // the source of the preset's fields

  bool given(const std::string& path) const { return places.contains(path); }
  bool by_preset(const std::string& path) const;
  // Whether the field's value is what the user meant. psim does not check fields that depend on an unreliable
  // field.
  bool reliable(const std::string& path) const;
};

}  // namespace psim
