#include "sim/study/request.hpp"

#include "sim/runs/shell.hpp"

namespace psim::study {

std::string compare_line(const Request& request, const std::string& program) {
  const std::string line = command_line(request, program);
  if (request.seeds.empty()) return line;
  const bool is_one =
      request.seeds.find(',') == std::string::npos;  // a lone number would be a number of seeds
  return line + " " + option_words("--seeds", is_one ? request.seeds + "-" + request.seeds : request.seeds);
}

}  // namespace psim::study
