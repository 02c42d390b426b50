// Given fields that have no effect, because of the value of another field.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reading/reading.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

class UnusedFields {
 public:
  UnusedFields(const Document& document, const Reading& reading) : document_(document), reading_(reading) {}

  // psim checks a field's Need when all fields are known. `place`: of the field's key; `source`: of its
  // value.
  void remember(std::string path, const Place& place, std::size_t source, const Need& need) {
    needy_.push_back({std::move(path), place, source, need});
  }
  // A later source takes the field's meaning away. psim notes it if the source is a --set.
  void lose(const std::string& path, std::size_t by) {
    if (is_set(by)) undone_[by].push_back(path);
  }
  // The later source wins. The choices of a preset have the place of the preset's name.
  std::size_t rank(std::size_t source) const {
    return reading_.preset_source == source ? document_.preset->given_in : source;
  }
  void report(Diagnostics& diagnostics);

 private:
  struct Needy {
    std::string path;
    Place place;
    std::size_t source;
    Need need;
  };
  bool is_set(std::size_t source) const;
  bool is_varied(std::string_view key) const;
  bool is_quiet(const Needy& needy, std::string_view key);

  const Document& document_;
  const Reading& reading_;
  std::vector<Needy> needy_;
  std::map<std::size_t, std::vector<std::string>> undone_;  // by source of a --set: paths
};

}  // namespace psim
