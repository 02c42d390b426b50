// Checks the memory of nodes.

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Memory final : public Check {
 public:
  explicit Memory(const Evidence& evidence)
      : Check(evidence, "memory", "the parts of each node's memory add up to its bytes") {
    if (!summary_.contains("memory")) does_not_apply();
  }

  void on(const Row&) override {}

  void at_end(std::int64_t) override {
    if (!report().applies) return;
    for (const Json& node : summary_.at("memory")) {
      examined();
      const auto bytes = node.at("bytes").get<std::uint64_t>();
      std::uint64_t parts = 0;
      for (const Json& part : node.at("parts")) parts += part.get<std::uint64_t>();
      // Each part is rounded down to whole bytes.
      if (parts > bytes || bytes - parts > node.at("parts").size())
        violated("a {} holds {} bytes, but its parts are {}", node.at("node").get<std::string>(), bytes,
                 parts);
      const Json& limit = node.at("limit_bytes");
      if (!limit.is_null() && bytes > limit.get<std::uint64_t>())
        violated("a {} holds {} bytes of {}", node.at("node").get<std::string>(), bytes, limit.dump());
    }
  }
};

}  // namespace

void add_memory_check(const Evidence& evidence, Checks& checks) { add_checks<Memory>(evidence, checks); }

}  // namespace psim::analysis
