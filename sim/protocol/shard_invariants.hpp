// What is true of a shard's server after every step, whatever was lost, repeated or overtaken. A run that
// breaks one of these has a mistake in the protocol, though its results may look right. Unit tests always
// look; a run looks where the environment has PSIM_INVARIANTS. (What is true of a whole run:
// sim/record/invariants.hpp.)
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
  // To be called after every step of this server; throws BrokenShard.
  void check(const ShardServer& server);

 private:
  std::int64_t version_ = 0, applied_ = 0, safe_entries_ = 0;
  std::uint32_t epoch_ = 0;
  bool led_ = false, has_looked_ = false;
};

// Whether the environment asks for it.
bool checks_invariants();

}  // namespace psim
