// Finds keys of a document that are neither a field nor a table, and suggests what the user meant.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reading/reading.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// Every described path, given or not; for a list only its first element.
struct Described {
  std::vector<std::string> fields = {}, tables = {};
};

class UnknownKeys {
 public:
  // Marks the fields that the user probably meant as wrong in `reading`.
  UnknownKeys(const Described& described, Reading& reading, Diagnostics& diagnostics)
      : described_(described), reading_(reading), diagnostics_(diagnostics) {}

  void report(const toml::table& root) { report(root, "", ""); }

 private:
  // A table at `path`, which was described as `as`.
  void report(const toml::table& table, const std::string& path, const std::string& as);
  std::string in_a_set(const std::string& help, std::size_t source) const;
  std::string advice(const std::string& path, const std::string& as, const std::string& key, bool is_table);

  const Described& described_;
  Reading& reading_;
  Diagnostics& diagnostics_;
};

}  // namespace psim
