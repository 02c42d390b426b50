// Keys of a document that no field and no table has, and what the user may have meant.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reading/reading.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// Every path that was described, given or not; of the elements of a list, the first.
struct Described {
  std::vector<std::string> fields = {}, tables = {};
};

class UnknownKeys {
 public:
  // Fields that were probably meant count as wrong in `reading`.
  UnknownKeys(const Described& described, Reading& reading, Diagnostics& diagnostics)
      : described_(described), reading_(reading), diagnostics_(diagnostics) {}

  void report(const toml::table& root) { report(root, "", ""); }

 private:
  // A table at `path`, which was described as `as`.
  void report(const toml::table& table, const std::string& path, const std::string& as);
  std::string advice(const std::string& path, const std::string& as, const std::string& key, bool is_table);

  const Described& described_;
  Reading& reading_;
  Diagnostics& diagnostics_;
};

}  // namespace psim
