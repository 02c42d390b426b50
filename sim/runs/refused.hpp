// Requests that psim refuses.
#pragma once

#include <string>
#include <string_view>

#include "model/user_error.hpp"

namespace psim {

// The reason why psim refuses a request.
struct Refused : UserError {
  using UserError::UserError;
};

// The same, with the full text for the user.
struct Invalid {
  std::string text;
};

// The same: the run needs more memory than the machine has or the limit allows.
struct NoRoom : Invalid {};

std::string refusal_text(std::string_view what, std::string_view help);

}  // namespace psim
