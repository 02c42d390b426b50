// Requests that psim refuses.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace psim {

// Something that was asked for and psim will not do.
struct Refused : std::runtime_error {
  Refused(const std::string& what, std::string advice) : std::runtime_error(what), help(std::move(advice)) {}
  std::string help;
};

// The same, with all that is to be said.
struct Invalid {
  std::string text;
};

// The same, because the run needs more memory than there is, or than it may have.
struct NoRoom : Invalid {};

std::string refusal_text(std::string_view what, std::string_view help);

}  // namespace psim
