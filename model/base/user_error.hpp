// An error that the user can correct, with advice.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace psim {

struct UserError : std::runtime_error {
  UserError(const std::string& what, std::string advice)
      : std::runtime_error(what), help(std::move(advice)) {}
  std::string help;
};

}  // namespace psim
