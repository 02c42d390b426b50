// A server with workers that send it what real ones send, one message at a time, and what it answers, as
// lines: "apply w0 s1" (worker, staleness), "drop w2", "duplicate w2", "version 3", "weights w1 v3",
// "finished w1".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/protocol/server/shard_server.hpp"
#include "tests/sim/protocol/shared_rule.hpp"

namespace psim::test {

using Lines = std::vector<std::string>;
using Numbers = std::vector<double>;

inline constexpr NodeId server_node = 1, first_worker = 2;

struct Log final : Outbox {
  Lines lines;
  std::vector<Message> sent;
  std::vector<UpdateGroup> announced;
  std::vector<std::int64_t> applied_of;  // per worker: pushes applied or dropped
  std::int64_t applied_count = 0, dropped_count = 0;

  void send(Message message) override {
    const auto w = message.to - first_worker;
    const MessageFacts facts = facts_of(message.body);
    lines.push_back(facts.kind == MessageKind::finished
                        ? fmt::format("finished w{}", w)
                        : fmt::format("{} w{} v{}", name_of(facts.kind), w, facts.version.value_or(0)));
    sent.push_back(std::move(message));
  }
  void announce(UpdateGroup group) override { announced.push_back(std::move(group)); }
  void applied(const Push& push, std::int64_t staleness) override {
    ++applied_count;
    count(push);
    lines.push_back(fmt::format("apply w{} s{}", push.worker - first_worker, staleness));
  }
  void dropped(const Push& push) override {
    ++dropped_count;
    count(push);
    lines.push_back(fmt::format("drop w{}", push.worker - first_worker));
  }
  void duplicate(const Push& push) override {
    lines.push_back(fmt::format("duplicate w{}", push.worker - first_worker));
  }
  void updated(std::int64_t version) override { lines.push_back(fmt::format("version {}", version)); }

 private:
  void count(const Push& push) {
    const std::size_t w = push.worker - first_worker;
    applied_of.resize(std::max(applied_of.size(), w + 1));
    ++applied_of[w];
  }
};

// What a server sends, and nothing else.
struct Mail final : Outbox {
  std::vector<Message> sent;
  void send(Message message) override { sent.push_back(std::move(message)); }
  void announce(UpdateGroup) override {}
  void applied(const Push&, std::int64_t) override {}
  void dropped(const Push&) override {}
  void duplicate(const Push&) override {}
  void updated(std::int64_t) override {}

  // Takes the first message of this kind to this node out; none if there is none.
  std::optional<Message> take(MessageKind kind, NodeId to) {
    const auto found = std::ranges::find_if(
        sent, [&](const Message& message) { return kind_of(message) == kind && message.to == to; });
    if (found == sent.end()) return std::nullopt;
    Message message = std::move(*found);
    sent.erase(found);
    return message;
  }
};

inline std::shared_ptr<Values> values_of(const Numbers& numbers) {
  auto values = std::make_shared<Values>(Precision::float64, numbers.size());
  std::ranges::copy(numbers, values->as<double>().begin());
  return values;
}

inline Numbers numbers_of(const Slice& slice) {
  const auto span = slice.as<double>();
  return {span.begin(), span.end()};
}

inline Message from_worker(std::uint32_t w, Body body, std::uint32_t epoch = 0) {
  return {.from = first_worker + w, .to = server_node, .epoch = epoch, .body = std::move(body)};
}

inline const Answer& last_answer(const std::vector<Message>& sent) {
  return std::get<Answer>(sent.back().body);
}

class Driver {
 public:
  struct Setup {
    std::int64_t steps = 100;
    Numbers weights = {};  // empty: a phantom model of four values
    OptimizerSpec optimizer = {};
    LearningRate learning_rate = {};
    StalenessRule stale = {};  // but for its limit, which the rule has
    Epochs epochs = {.per_clock = 1};
    DelayCompensation::Rule compensation = {};
    std::int64_t feature_blocks = 1;
  };

  Driver(const ConsistencySpec& spec, std::int64_t workers) : Driver(spec, workers, Setup()) {}
  Driver(const ConsistencySpec& spec, std::int64_t workers, const Setup& setup)
      : rule(rule_of(spec, workers, setup)),
        server({.id = server_node,
                .state = {.first_worker = first_worker,
                          .rule = shared_rule(rule),
                          .steps = setup.steps,
                          .learning_rate = setup.learning_rate,
                          .epochs = setup.epochs,
                          .weights = {.optimizer = setup.optimizer,
                                      .ranges = {{0, setup.weights.size()}},
                                      .feature_blocks = setup.feature_blocks,
                                      .parameters = static_cast<std::int64_t>(setup.weights.size()),
                                      .compensation = setup.compensation}},
                .checked = true},
               initial(setup.weights), setup.weights.empty() ? 4 : setup.weights.size()),
        workers_(static_cast<std::size_t>(workers)) {}

  // Hands the server a message and returns what came of it; workers remember the versions they are sent.
  Lines deliver(const Message& message) {
    log.lines.clear();
    const std::size_t already = log.sent.size();
    server.on(message, now, log);
    remember(already);
    return log.lines;
  }

  // The worker wants to start its next clock: the messages that it would send now.
  Message pull_of(std::uint32_t w) {
    Worker& worker = workers_[w];
    const bool newer_only = rule.gate == Gate::version;
    return from_worker(w, Pull{.clock = rule.drops_stale ? worker.version + 1 : worker.pushes,
                               .above = newer_only ? worker.version : -1,
                               .number = ++worker.pulls,
                               .pushes_sent = worker.pushes,
                               .computes = newer_only && worker.pushed_on < worker.version});
  }
  Message push_of(std::uint32_t w, const Numbers& gradient = {}) {
    Worker& worker = workers_[w];
    Slice slice;
    if (!gradient.empty()) slice = {values_of(gradient), 0, gradient.size()};
    const std::int64_t number = worker.pushes++;
    worker.pushed_on = worker.version;
    return from_worker(w, Push{.worker = first_worker + w,
                               .number = number,
                               .clock = rule.drops_stale ? worker.version : number,
                               .version = worker.version,
                               .gradient = {.values = slice}});
  }

  Lines pull(std::uint32_t w) { return deliver(pull_of(w)); }
  Lines push(std::uint32_t w, const Numbers& gradient = {}) { return deliver(push_of(w, gradient)); }
  Lines turn(std::uint32_t w, const Numbers& gradient = {}) {
    Lines lines = push(w, gradient);
    const Lines more = pull(w);
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
  }
  // The date of the next update comes, if there is one.
  Lines close() {
    log.lines.clear();
    const std::size_t already = log.sent.size();
    if (const std::optional<double> date = server.closes_at(now)) server.close(now = *date, log);
    remember(already);
    return log.lines;
  }
  void pull_all() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) pull(w);
  }
  // Pushes that have come, each once.
  std::int64_t arrived() const {
    std::int64_t all = 0;
    for (const WorkerClocks::Worker& worker : server.state().workers) all += worker.arrived;
    return all;
  }
  Numbers weights() const { return numbers_of(server.state().snapshot()); }

  double now = 0;
  ConsistencyRule rule;
  ShardServer server;
  Log log;

 private:
  struct Worker {
    std::int64_t version = -1, pushed_on = -1, pushes = 0, pulls = 0;
  };
  void remember(std::size_t already) {
    for (std::size_t i = already; i < log.sent.size(); ++i) {
      const Answer* answer = log.sent[i].as<Answer>();
      if (answer != nullptr && !answer->finished)
        workers_[log.sent[i].to - first_worker].version = answer->version;
    }
  }
  static ConsistencyRule rule_of(const ConsistencySpec& spec, std::int64_t workers, const Setup& setup) {
    ConsistencyRule rule = make_rule(spec, workers);
    rule.stale.function = setup.stale.function;
    rule.stale.settings = setup.stale.settings;
    return rule;
  }
  static std::optional<Values> initial(const Numbers& numbers) {
    if (numbers.empty()) return std::nullopt;
    return std::move(*values_of(numbers));
  }
  std::vector<Worker> workers_;
};

}  // namespace psim::test
