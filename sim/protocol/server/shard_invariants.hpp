// Facts that are true of a shard's server after every step, whatever messages were lost, repeated or
// overtaken. If a run breaks one of these, the protocol has a mistake, even if the results look right. Unit
// tests, scripts and the fuzzer always check; a run checks if the environment has PSIM_INVARIANTS.
// (sim/record/invariants.hpp has the facts about a whole run.)
#pragma once

#include <cstdint>
#include <stdexcept>

namespace psim {

class ShardServer;

struct BrokenShard : std::logic_error {
  using std::logic_error::logic_error;
};

class ShardInvariants {
 public:
  // To be called after every step of this server. Throws BrokenShard with the broken invariant and its
  // numbers.
  void check(const ShardServer& server);

 private:
  void check_all(const ShardServer& server);

  std::int64_t version_ = 0, changes_ = 0, applied_ = 0, safe_entries_ = 0;
  std::uint32_t epoch_ = 0;
  bool led_ = false, has_looked_ = false;
};

// Whether the environment has PSIM_INVARIANTS.
bool checks_invariants();

}  // namespace psim
