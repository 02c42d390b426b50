// A scenario file as parsed TOML, with overrides (--set and comparison axes) put in. Every node still
// knows which source it came from.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "sim/scenario/diagnostics.hpp"

namespace psim {

// `key` is a dotted path such as "cluster.workers" or "straggler.0.slowdown"; `value` is TOML, or a bare
// word that stands for a string. A table as value replaces the whole table.
struct Override {
  std::string key;
  std::string value;
};

struct Document {
  toml::table root;
  std::vector<std::uint32_t> column_shift;  // per source: how far its shown text is from what was parsed

  Place place(const toml::source_region& region) const;
};

// Reads and parses `path`. Problems go to `diagnostics`; the returned document is then incomplete, and
// `usable` says whether checking its fields still makes sense.
struct ParsedDocument {
  Document document;
  bool usable = false;
};
ParsedDocument read_document(const std::string& path, const std::vector<Override>& overrides, Diagnostics& diagnostics);

}  // namespace psim
