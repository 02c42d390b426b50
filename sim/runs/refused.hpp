// Requests that psim refuses.
#pragma once

#include <string>
#include <string_view>

#include "model/user_error.hpp"

namespace psim {

// Something that was asked for and psim will not do.
struct Refused : UserError {
  using UserError::UserError;
};

// The same, with all that is to be said.
struct Invalid {
  std::string text;
};

// The same, because the run needs more memory than there is, or than it may have.
struct NoRoom : Invalid {};

std::string refusal_text(std::string_view what, std::string_view help);

}  // namespace psim
