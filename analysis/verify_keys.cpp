// Key caching: before a message with a signature instead of a list of keys, the receiver must have been sent
// the list.
#include <map>
#include <set>
#include <tuple>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Keys final : public Check {
 public:
  explicit Keys(const Evidence& evidence)
      : Check(evidence, "keys",
              "a sender omits the key list only if it has sent one to this receiver before") {
    if (!facts_.plain_values || summary_.contains("groups")) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is_crash()) ++lives_[row.peer];
    if (row.is("cut")) cut_.insert({row.shard, row.new_shard});
    const bool is_push = row.is("sent", "push") && facts_.caches_keys != "pull",
               is_answer = row.is("sent", "weights") && facts_.caches_keys != "push";
    if ((!is_push && !is_answer) || row.values == 0) return;
    examined();
    constexpr std::uint64_t signature = 8;
    const std::uint64_t values = facts_.header + signature + row.values * facts_.bytes_per_value;
    const std::uint64_t keys = row.values * facts_.bytes_per_listed_key;
    const Connection connection{row.shard, row.epoch, row.node, row.peer, lives_[row.node]};
    if (row.bytes == values + keys) known_.insert(connection);
    else if (row.bytes != values && cut_.contains(row.shard)) return;  // it may be a part of a message
    else if (row.bytes != values)
      violated(row, "a {} of {} values has {} bytes, not {} or, with its keys, {}", row.kind, row.values,
               row.bytes, values, values + keys);
    else if (!known_.contains(connection))
      violated(row, "{} sends {} a {} for shard {} without its keys, and has sent it none before",
               name(row.node), name(row.peer), row.kind, row.shard);
  }

 private:
  // Shard, epoch, sender, receiver, and the number of crashes of the sender. The sender may not know yet that
  // the receiver crashed; then its message counts as lost.
  using Connection = std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t, int>;
  std::set<Connection> known_;
  std::set<std::uint32_t> cut_;  // shards
  std::map<std::uint32_t, int> lives_;
};

}  // namespace

void add_key_check(const Evidence& evidence, Checks& checks) {
  if (!evidence.facts.caches_keys.empty()) add_checks<Keys>(evidence, checks);
}

}  // namespace psim::analysis
