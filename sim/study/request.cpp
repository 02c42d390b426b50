#include "sim/study/request.hpp"

#include "sim/runs/shell.hpp"

namespace psim::study {

std::string compare_line(const Request& request, const std::string& program) {
  const std::string line = command_line(request, program);
  return request.seeds.empty() ? line : line + " " + option_words("--seeds", request.seeds);
}

}  // namespace psim::study
