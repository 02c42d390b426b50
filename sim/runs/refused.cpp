#include "sim/runs/refused.hpp"

#include <fmt/format.h>

namespace psim {

std::string refusal_text(std::string_view what, std::string_view help) {
  return fmt::format("error: {}\n  = help: {}\n", what, help);
}

}  // namespace psim
