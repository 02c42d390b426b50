// Computes the times of detection and takeover, and the times of the disk of the storage node, only from the
// events.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

// The crash of a server, and its later course in the events.
struct Outage {
  std::uint32_t node = 0;
  double at = 0;
  std::set<std::uint32_t> shards = {};  // that it owned, and that have no owner since
  bool knows = false;                   // the scheduler knows: its next view says so
  std::optional<double> announced = {}, fetched = {};
  bool had_shards = false;              // according to the events so far
  std::set<std::uint32_t> others = {};  // shards of other servers, according to the events so far
  bool is_unsure = false;               // the first request was for a shard with an unknown owner
};

// Compares the times of recoveries with the summary.
class RecoveryTimes : public Check {
 protected:
  using Check::Check;
  static std::optional<double> span(std::optional<double> from, std::optional<double> to) {
    return from && to ? std::optional(*to - *from) : std::nullopt;
  }
  void compare(const std::string& whose, const char* key, std::optional<double> counted, const Json& told) {
    const Json& value = told.at(key);
    const bool agree =
        counted ? value.is_number() && std::abs(value.get<double>() - *counted) <= 1e-9 : value.is_null();
    if (agree) return;
    violated("{}, crash at {:.9g} s: {} is {} in the events, {} in the summary", whose,
             told.at("at_s").get<double>(), key, counted ? fmt::format("{:.9g}", *counted) : "not there",
             value.dump());
  }
};

class Recoveries final : public RecoveryTimes {
 public:
  explicit Recoveries(const Evidence& evidence)
      : RecoveryTimes(evidence, "recovery", "the times of detection and takeover belong to this crash") {}

  void on(const Row& row) override {
    // Identifies only the first owner: a replaced owner may not know yet that it is replaced.
    if (row.is("model_update") && !epoch_.contains(row.shard)) owner_[row.shard] = row.node;
    if (row.is("sent", "weights") && facts_.is_server(row.node)) owner_.try_emplace(row.shard, row.node);
    if (row.is("sent", "restore")) on_restore(row);
    if (row.is("received") && row.node == 0 && facts_.is_server(row.peer)) on_receipt(row);
    if (row.is("suspicion")) {
      learns_.insert(row.peer);
      is_known(row.peer);
    }
    if (row.is("view_change")) on_view(row.at);
    if (row.is("promotion")) on_promotion(row);
    if (row.is_crash() && facts_.is_server(row.peer)) on_crash(row);
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    for (const Json& told : summary_.at("failures").at("recoveries")) {
      if (told.contains("worker")) continue;  // see Regroupings
      const auto node = 1 + told.at("server").get<std::uint32_t>();
      const double at = told.at("at_s");
      const auto outage = std::ranges::find_if(
          outages_, [&](const Outage& one) { return one.node == node && !(std::abs(one.at - at) > 1e-12); });
      examined();
      if (outage == outages_.end()) {
        violated("{} did not crash at {:.9g} s", name(node), at);
        continue;
      }
      compare(name(node), "detection_s", span(at, outage->announced), told);
      if (!outage->fetched || !outage->announced || !outage->had_shards || outage->is_unsure) continue;
      compare(name(node), "takeover_s", std::max(0.0, *outage->fetched - *outage->announced), told);
    }
  }

 private:
  void on_restore(const Row& row) {
    for (Outage& outage : outages_) {
      if (outage.fetched || outage.others.contains(row.shard)) continue;
      outage.fetched = row.at;
      outage.is_unsure = !outage.shards.contains(row.shard);
    }
  }
  // A message from a server to the scheduler shows that the server is up (again, after a crash).
  void on_receipt(const Row& row) {
    if (row.kind != "join" && row.kind != "heartbeat" && row.kind != "leave") return;
    down_.erase(row.peer);
    learns_.erase(row.peer);
    is_known(row.peer);
  }
  void is_known(std::uint32_t node) {
    for (Outage& outage : outages_) outage.knows = outage.knows || outage.node == node;
  }
  void on_promotion(const Row& row) {
    if (row.epoch < epoch_[row.shard]) return;  // not from the newest owner
    epoch_[row.shard] = row.epoch;
    owner_[row.shard] = row.node;
    for (Outage& outage : outages_) {
      if (outage.shards.erase(row.shard) > 0 && outage.shards.empty() && !outage.fetched)
        outage.fetched = row.at;
    }
  }
  void on_view(double at) {
    for (Outage& outage : outages_) {
      if (outage.knows && !outage.announced) outage.announced = at;
    }
    down_.merge(learns_);
    learns_.clear();
  }
  void on_crash(const Row& row) {
    learns_.erase(row.peer);
    Outage outage{.node = row.peer, .at = row.at};
    for (const auto& [shard, owner] : owner_) {
      (owner == row.peer ? outage.shards : outage.others).insert(shard);
    }
    outage.had_shards = !outage.shards.empty();
    // After the end of a job its shards have no owner.
    for (const double end : facts_.job_ends) outage.is_unsure = outage.is_unsure || row.at >= end;
    if (down_.contains(row.peer)) outage.announced = row.at;  // it was already suspected
    for (Outage& earlier : outages_) {
      if (earlier.node == row.peer && !earlier.announced) earlier.knows = false;
    }
    outages_.push_back(std::move(outage));
  }

  std::map<std::uint32_t, std::uint32_t> owner_;  // by shard, according to the events so far
  std::map<std::uint32_t, std::int64_t> epoch_;   // by shard: epoch of this owner
  // Servers that the next view (learns_) or an earlier view (down_) counts as down.
  std::set<std::uint32_t> learns_, down_;
  std::vector<Outage> outages_;
};

// Without servers: when a lost worker was noticed, when a group that knows of the loss began, and when the
// current step of the crash was done.
class Regroupings final : public RecoveryTimes {
 public:
  explicit Regroupings(const Evidence& evidence)
      : RecoveryTimes(evidence, "regrouping",
                      "the times of a lost worker's recovery are those of the next group") {
    if (facts_.has_servers) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is("received") && row.node == 0) on_receipt(row);
    if (row.is("suspicion")) told_.insert(row.peer);
    if (row.is("view_change")) on_view(row.at);
    if (row.is("participant")) on_participant(row);
    if (row.is("finish")) through_.insert(row.node);
    if (row.is("sent") && row.kind == "regroup")
      each([](Loss& one) { one.agreed = one.agreed || one.announced.has_value(); });
    if (row.is_step() && row.is("begun")) on_begin(row.at);
    if (row.is("model_update")) on_update(row);
    if (!row.is_crash() || !facts_.is_worker(row.peer)) return;
    told_.erase(row.peer);
    back_.erase(row.peer);
    if (!through_.contains(row.peer)) {
      losses_.push_back({.node = row.peer, .at = row.at, .version = version_});
      if (known_.contains(row.peer)) losses_.back().announced = row.at;
    }
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    const Json& rows = summary_.at("failures").at("recoveries");
    examined();
    if (rows.size() != losses_.size())
      return violated("{} workers were lost, and the summary has {}", losses_.size(), rows.size());
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      const Loss& one = losses_[i];
      examined(3);
      const std::string whose = fmt::format("worker {}", rows[i].at("worker").get<int>());
      compare(whose, "detection_s", span(one.at, one.announced), rows[i]);
      compare(whose, "reforming_s", span(one.announced, one.begun), rows[i]);
      compare(whose, "total_s", span(one.at, one.done), rows[i]);
    }
  }

 private:
  struct Loss {
    std::uint32_t node = 0;
    double at = 0;
    std::int64_t version = 0;  // of the newest copy
    bool agreed = false;
    std::optional<double> announced = {}, begun = {}, done = {};
  };
  template <class Action>
  void each(Action action) {
    for (Loss& one : losses_) action(one);
  }
  // A worker that returns before anyone notices its absence reports it itself.
  void on_receipt(const Row& row) {
    if (!facts_.is_worker(row.peer) || (row.kind != "join" && row.kind != "heartbeat" && row.kind != "leave"))
      return;
    known_.erase(row.peer);
    through_.erase(row.peer);
    const bool is_news =
        std::ranges::any_of(losses_, [&](const Loss& one) { return one.node == row.peer && !one.announced; });
    if (is_news) back_.insert(row.peer);
  }
  void on_view(double at) {
    participants_ = 0;
    each([&](Loss& one) {
      if (!one.announced && (told_.contains(one.node) || back_.contains(one.node))) one.announced = at;
    });
    for (const std::uint32_t node : told_) {
      if (!back_.contains(node)) known_.insert(node);
    }
    told_.clear();
    back_.clear();
  }
  // The first group also knows of workers that crashed before it existed and returned in time.
  void on_participant(const Row& row) {
    if (row.view == 0 && participants_ == 0) {
      each([&](Loss& one) {
        if (one.announced || back_.erase(one.node) == 0) return;
        one.announced = row.at;
        one.agreed = true;
      });
    }
    ++participants_;
  }
  void on_begin(double at) {
    each([&](Loss& one) {
      if (!one.begun && (one.agreed || (one.announced && participants_ == 1))) one.begun = at;
    });
  }
  void on_update(const Row& row) {
    version_ = row.version;
    each([&](Loss& one) {
      if (one.begun && !one.done && row.version > one.version) one.done = row.at;
    });
  }

  std::vector<Loss> losses_;
  std::set<std::uint32_t> told_, back_, known_, through_;
  std::int64_t version_ = 0, participants_ = 0;
};

class Snapshots final : public Check {
 public:
  explicit Snapshots(const Evidence& evidence)
      : Check(evidence, "snapshots",
              "the storage node's disk writes one snapshot after the other, each in its time") {}

  void on(const Row& row) override {
    const std::uint64_t size = row.bytes - std::min(row.bytes, facts_.header);
    const Key key{row.shard, row.version};
    const auto is_storage = [this](std::uint32_t node) { return name(node) == "storage"; };
    // It loses snapshots that are not written yet.
    if (row.is_crash() && is_storage(row.peer)) received_.clear();
    if (row.is("received", "state") && is_storage(row.node))
      received_[{row.peer, key}].push_back({row.at, static_cast<double>(size)});
    if (!row.is("snapshot") || !(facts_.disk > 0)) return;
    examined();
    std::vector<Received>& all = received_[{row.peer, key}];
    if (all.empty())
      return violated(row, "version {} of shard {} has not arrived, or was written before", row.version,
                      row.shard);
    const double least = std::max(all.front().at, last_) + all.front().bytes / facts_.disk;
    if (row.at < least - 1e-9)
      violated(row, "version {} of shard {} is written at {:.9g} s; the disk needs until {:.9g} s",
               row.version, row.shard, row.at, least);
    all.erase(all.begin());
    last_ = row.at;
  }

 private:
  using Key = std::pair<std::uint32_t, std::int64_t>;  // shard and version
  struct Received {
    double at, bytes;
  };
  std::map<std::pair<std::uint32_t, Key>, std::vector<Received>> received_;  // by sender
  double last_ = 0;
};

class Sizes final : public Check {
 public:
  explicit Sizes(const Evidence& evidence)
      : Check(evidence, "sizes",
              "a message has the bytes of its content, and the bytes of all kinds sum to the total") {}

  void on(const Row& row) override {
    if (!row.is("sent")) return;
    by_kind_[std::string(row.kind)] += row.bytes;
    if (summary_.contains("groups")) return;  // each job has its own sizes
    const std::optional<std::uint64_t> size = size_of(row);
    if (!size) return;
    examined();
    if (*size != row.bytes)
      violated(row, "a {} of {} values, {} keys and {} names has {} bytes, not {}", row.kind, row.values,
               row.keys, row.ids, *size, row.bytes);
  }
  void at_end(std::int64_t) override {
    const Json& told = summary_.at("bytes_by_kind");
    std::uint64_t all = 0;
    for (const auto& [kind, bytes] : by_kind_) {
      all += bytes;
      examined();
      const Json said = told.value(kind, Json(0));
      if (said != bytes) violated("{}: {} bytes in the events, {} in the summary", kind, bytes, said.dump());
    }
    if (summary_.at("bytes_sent") != all)
      violated("all kinds have {} bytes, and {} were sent", all, summary_.at("bytes_sent").dump());
  }

 private:
  // The size of a message from its content; none if the content does not determine it.
  std::optional<std::uint64_t> size_of(const Row& row) const {
    constexpr std::uint64_t id = 12, weight = 8;
    const std::uint64_t listed = row.keys > 0 ? facts_.bytes_per_listed_key : facts_.bytes_per_key;
    if (row.kind == "weights" || row.kind == "finished" || row.kind == "push") {
      const bool may_be_copy = facts_.sums && history_.watched() && row.kind != "push";
      if (facts_.filtered || may_be_copy) return std::nullopt;
      return facts_.header + row.values * (facts_.bytes_per_value + listed);
    }
    if (row.kind == "pull" && !(!facts_.caches_keys.empty() && row.keys > 0))
      return facts_.header + row.keys * facts_.bytes_per_listed_key;
    if (row.kind == "chunk" && facts_.filtered) return std::nullopt;
    if (row.kind == "chunk" || row.kind == "activation" || row.kind == "error")
      return facts_.header + row.values * facts_.bytes_per_value;
    if (row.kind == "group") return facts_.header + row.ids * id + row.values * weight;
    if (row.kind == "heartbeat") return facts_.header + 16 + row.ids * 16;
    if (row.kind == "idle") return facts_.header + 16;
    const bool tells_decisions = facts_.shares_out && !facts_.in_step();
    const bool of_both_kinds = (tells_decisions && facts_.slow_factor > 0) || facts_.own_logic;
    if (row.kind == "report" && of_both_kinds) return std::nullopt;
    if (row.kind == "report") return facts_.header + (tells_decisions ? 16 : 8);
    for (const char* bare : {"join", "ack", "fetch", "replicated", "restore", "ready"}) {
      if (row.kind == bare) return facts_.header;
    }
    return std::nullopt;
  }

  std::map<std::string, std::uint64_t> by_kind_;
};

}  // namespace

void add_failure_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Recoveries, Regroupings, Snapshots, Sizes>(evidence, checks);
}

}  // namespace psim::analysis
