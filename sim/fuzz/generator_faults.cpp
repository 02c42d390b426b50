// Draws the faults of a scenario.
#include <fmt/format.h>

#include "sim/fuzz/generator.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim::fuzz {

// Programs of tasks: known shapes, with additional dependencies that make no circle.

namespace {

void add_task(Draft& draft, const std::string& name, std::string_view does, const std::string& after,
              std::vector<Row> more = {}) {
  Table task{.name = "task", .many = true, .rows = {{"name", '"' + name + '"', true}}};
  task.rows.push_back({"do", fmt::format("\"{}\"", does), true});
  if (!after.empty()) task.rows.push_back({"after", '[' + after + ']', true});
  for (Row& row : more) task.rows.push_back(std::move(row));
  draft.tables.push_back(std::move(task));
}

// Pull, gradient and push. The names of the tasks that change the weights afterwards begin in the same way.
void add_chain(Draft& draft, const std::string& name, std::int64_t workers, bool each, Dice& dice) {
  const std::string change = name + (each ? "apply" : "update");
  std::string after =
      fmt::format("\"{}{}[-{}]\"", dice.chance(0.5) ? "all " : "", change, dice.between(1, 3));
  if (dice.chance(0.4)) after += fmt::format(", \"{}push[-1]\"", name);
  std::vector<Row> place;
  if (dice.chance(0.4)) {
    place = {{"on", "\"any worker\""}, {"count", dice.number(1, 2 * workers)}};
  } else if (dice.chance(0.2)) {
    place = {{"on", fmt::format("\"worker {}\"", dice.between(0, workers - 1))}};
  }
  add_task(draft, name + "pull", "pull", after, std::move(place));
  add_task(draft, name + "gradient", "gradient", fmt::format("\"{}pull\"", name));
  add_task(draft, name + "push", "push", fmt::format("\"{}gradient\"", name));
  add_task(draft, change, each ? "apply" : "update",
           fmt::format("\"{}push\"{}", name, each ? "" : fmt::format(", \"all {}gradient[-1]\"", name)));
  if (dice.chance(0.3))
    add_task(draft, name + "shrink", dice.chance(0.5) ? "scale" : "clip", fmt::format("\"{}\"", change),
             {{"amount", "0.99", true}});
  if (dice.chance(0.3)) add_task(draft, name + "length", "norm", fmt::format("\"{}[-1]\"", change));
}

}  // namespace

Draft with_tasks(Dice& dice) {
  Draft draft;
  draft[""].rows = {{"seed", dice.number(0, 1'000'000)}};
  const std::int64_t workers = dice.between(1, 5);
  const bool learns = dice.chance(0.5);
  draft["consistency"].rows = {{"model", "\"tasks\"", true}};
  draft["training"].rows = {{"batch_size", dice.number(1, 8)}, {"steps", dice.number(1, 12), true}};
  if (learns) {
    draft["model"].rows = {{"kind", "\"mlp\"", true}, {"layers", "[4, 5, 3]", true}};
    draft["data"].rows = {
        {"source", "\"blobs\"", true}, {"samples", "60"}, {"features", "4"}, {"classes", "3"}};
    if (dice.chance(0.3)) draft["training"].rows.push_back({"optimizer", "\"adam\""});
  } else {
    draft["model"].rows = {{"kind", "\"phantom\"", true}, {"arrays", "[100, 7, 1000]", true}};
  }
  if (dice.chance(0.4)) draft["messages"].rows = {{"unit", "\"array\""}};
  draft["cluster"].rows = {{"workers", std::to_string(workers), true}, {"servers", dice.number(1, 3), true}};
  draft["cluster.network"].rows = {{"bandwidth", dice.text_of({"10Gbps", "200Mbps"}), true},
                                   {"latency", dice.text_of({"1us", "30us"}), true}};
  if (dice.chance(0.3)) draft["cluster.network"].rows.push_back({"model", "\"nic\""});
  if (dice.chance(0.2)) draft["cluster.server"].rows = {{"flops_per_value", "1000"}};
  draft["compute"].rows = {{"time", "\"1ms\"", true},
                           {"distribution", dice.text_of({"constant", "exponential"})}};
  const bool each = dice.chance(0.5);
  add_chain(draft, "", workers, each, dice);
  if (dice.chance(0.3)) add_chain(draft, "second_", workers, dice.chance(0.5), dice);
  return draft;
}

namespace {

class Faults {
 public:
  Faults(Draft& draft, const Victims& victims, Dice& dice) : draft_(draft), v_(victims), dice_(dice) {}

  void draw_one() {
    const auto& kind = drawn_row<FaultKindRow>(dice_);
    const bool hands_over = kind.leaves || kind.joins;  // to other nodes, which continue without it
    if (v_.servers == 0 && hands_over && !v_.may_leave) return crash();
    if (kind.crashes || (kind.loses_disk && !v_.snapshots)) return crash();
    if (kind.loses_disk) return add(kind, storage(), trigger());
    if (kind.corrupts && !v_.learns) return crash();
    if (kind.corrupts) return add(kind, workers(), window());
    if (kind.on == FaultOn::everything) return pair(*FaultKind(kind.undoes), kind, sides());
    if (hands_over) return move(kind);
    if (!kind.undoes.empty()) return pair(*FaultKind(kind.undoes), kind, nodes());
    add(kind, kind.on == FaultOn::sides ? sides() : whom(kind), kind.window ? window() : trigger());
  }

 private:
  using Rows = std::vector<Row>;

  void add(const FaultKindRow& kind, const Rows& whom, const Rows& when) {
    Rows rows{{"kind", fmt::format("\"{}\"", kind.name), true}};
    for (const Rows& more : {whom, when}) rows.insert(rows.end(), more.begin(), more.end());
    if (kind.slows) rows.push_back({"factor", std::string(dice_.one_of({"0", "0.1", "0.5"}))});
    if (kind.degrades) rows.push_back({"factor", std::string(dice_.one_of({"0.01", "0.2"}))});
    if (kind.takes_delay) rows.push_back({"delay", dice_.time(50, 10'000)});
    if (kind.corrupts) add_corruption(rows);
    if (kind.on == FaultOn::messages) {
      rows.push_back({"probability", std::string(dice_.one_of({"0.05", "0.3", "1"}))});
      if (v_.shares_work && dice_.chance(0.5))
        rows.push_back(
            {"messages",
             '[' + dice_.text_of({"report", "assign", "fetch", "samples", "idle", "piece", "gradient"}) +
                 ']'});
      else if (dice_.chance(0.5)) rows.push_back({"messages", '[' + message() + ']'});
    }
    for (Row& row : rows) row.needed = false;
    draft_.tables.push_back({.name = "fault", .many = true, .rows = std::move(rows)});
  }

  void add_corruption(Rows& rows) {
    const std::string how = dice_.text_of({"sign", "noise", "scale", "constant", "copy"});
    rows.push_back({"how", how});
    const bool copies = how == "\"copy\"";
    if (copies) rows.push_back({"of", fmt::format("\"worker {}\"", dice_.between(0, v_.workers - 1))});
    else rows.push_back({"factor", std::string(dice_.one_of({"1", "-0.5", "3"}))});
  }

  // Inference nodes are not members, so they do not join or leave.
  void move(const FaultKindRow& kind) {
    Victims members = v_;
    members.readers = 0;
    Faults faults(draft_, members, dice_);
    if (kind.joins && dice_.chance(0.5)) return faults.pair(*FaultKind("leave"), kind, faults.nodes());
    if (kind.joins) return faults.add(kind, faults.nodes(), {{"at", date()}});
    faults.add(kind, faults.whom(kind), kind.window ? faults.window() : faults.trigger());
  }

  std::string message() {
    if (v_.servers == 0)
      return dice_.text_of({"chunk", "activation", "error", "standing", "regroup", "state", "restore", "join",
                            "start", "leave", "ack", "heartbeat", "view"});
    return dice_.text_of({"join", "start", "pull", "weights", "push", "finished", "group", "decide", "ready",
                          "leave", "ack", "heartbeat", "view", "replicate", "replicated", "state",
                          "restore"});
  }

  void crash() {
    Rows when = trigger();
    if (dice_.chance(0.75)) when.push_back({"restart_after", dice_.time(100, 20'000)});
    if (v_.database && dice_.chance(0.2))
      return add(*FaultKind("crash"), {{"nodes", "[\"database\"]"}}, when);
    const bool of_storage = v_.snapshots && dice_.chance(0.2);
    if (of_storage && dice_.chance(0.5)) when.push_back({"disk", "\"lost\""});
    add(*FaultKind("crash"), of_storage ? storage() : nodes(), when);
  }

  // A fault that removes something, and the fault that restores it.
  void pair(const FaultKindRow& first, const FaultKindRow& second, const Rows& whom) {
    const std::int64_t begin = dice_.between(0, v_.end_us), end = begin + dice_.between(100, 20'000);
    add(first, whom, {{"at", fmt::format("\"{}us\"", begin)}});
    add(second, second.on == FaultOn::everything ? Rows{} : whom, {{"at", fmt::format("\"{}us\"", end)}});
  }

  std::string node() {
    if (v_.readers > 0 && dice_.chance(0.3))
      return fmt::format("inference {}", dice_.between(0, v_.readers - 1));
    if (v_.colocated && dice_.chance(0.4)) return fmt::format("host {}", dice_.between(0, v_.workers - 1));
    const bool server = v_.servers > 0 && dice_.chance(0.6);
    return fmt::format("{} {}", server ? "server" : "worker",
                       dice_.between(0, (server ? v_.servers : v_.workers) - 1));
  }

  static Rows storage() { return {{"nodes", "[\"storage\"]"}}; }

  Rows nodes() {
    std::string names = fmt::format("\"{}\"", node());
    if (dice_.chance(0.15)) names += fmt::format(", \"{}\"", node());
    if (dice_.chance(0.12))
      names = dice_.text_of({v_.servers > 0 ? "servers" : "worker 0", "workers", "scheduler", "all"});
    return {{"nodes", '[' + names + ']'}};
  }

  Rows workers() {
    const std::string one = fmt::format("\"worker {}\"", dice_.between(0, v_.workers - 1));
    return {{"nodes", '[' + (dice_.chance(0.2) ? "\"workers\"" : one) + ']'}};
  }

  Rows sides() {
    const std::string one = fmt::format("\"{}\"", node());
    const std::string both = dice_.chance(0.6) ? fmt::format("[{}], [\"rest\"]", one)
                             : dice_.chance(0.5) && v_.servers > 0
                                 ? "[\"servers\"], [\"workers\"]"
                                 : fmt::format("[\"scheduler\"], [{}]", one);
    return {{"between", '[' + both + ']'}};
  }

  Rows whom(const FaultKindRow& kind) {
    if (kind.on != FaultOn::messages || dice_.chance(0.3)) return nodes();
    return dice_.chance(0.5) ? sides() : Rows{};
  }

  std::string date() { return dice_.time(0, v_.end_us); }

  Rows trigger() {
    if (dice_.chance(0.1)) return {{"mtbf", dice_.time(v_.end_us / 2, v_.end_us * 3)}};
    if (dice_.chance(0.25)) return {{"when", '"' + condition() + '"'}};
    Rows rows{{"at", date()}};
    if (dice_.chance(0.1)) rows.push_back({"every", dice_.time(20'000, 40'000)});
    return rows;
  }

  std::string condition() {
    if (v_.learns && dice_.chance(0.2)) return "loss < 0.9";
    if (dice_.chance(0.5))
      return fmt::format("clock of worker {} = {}", dice_.between(0, v_.workers - 1), dice_.between(1, 6));
    return fmt::format("updates >= {}", dice_.between(1, 30));
  }

  Rows window() {
    if (dice_.chance(0.5)) {
      const std::int64_t begin = dice_.between(0, v_.end_us);
      Rows rows;
      if (dice_.chance(0.8)) rows.push_back({"from", fmt::format("\"{}us\"", begin)});
      if (rows.empty() || dice_.chance(0.8))
        rows.push_back({"until", fmt::format("\"{}us\"", begin + dice_.between(100, 20'000))});
      return rows;
    }
    Rows rows = trigger();
    if (rows[0].key == "mtbf" || dice_.chance(0.8)) rows.push_back({"lasts", dice_.time(100, 20'000)});
    return rows;
  }

  Draft& draft_;
  const Victims& v_;
  Dice& dice_;
};

}  // namespace

void draw_faults(Draft& draft, const Victims& victims, Dice& dice) {
  Faults faults(draft, victims, dice);
  for (std::int64_t left = dice.between(0, 4); left > 0; --left) faults.draw_one();
}

void draw_last_survivor(Draft& draft, const Victims& v, Dice& dice) {
  if (v.workers < 2 || !dice.chance(0.3)) return;
  const std::int64_t survivor = dice.between(0, v.workers - 1);
  const bool leaves = v.may_leave && dice.chance(0.5);
  const auto add = [&](std::string_view kind, std::int64_t worker, std::int64_t at) -> std::vector<Row>& {
    draft.tables.push_back({.name = "fault",
                            .many = true,
                            .rows = {{"kind", in_quotes(kind)},
                                     {"nodes", fmt::format("[\"worker {}\"]", worker)},
                                     {"at", fmt::format("\"{}us\"", at)}}});
    return draft.tables.back().rows;
  };
  for (std::int64_t worker = 0; worker < v.workers; ++worker) {
    if (worker == survivor) continue;
    const std::int64_t gone = dice.between(0, v.end_us / 4), away = dice.between(5'000, 60'000);
    std::vector<Row>& rows = add(leaves ? "leave" : "crash", worker, gone);
    if (leaves) add("join", worker, gone + away);
    else rows.push_back({"restart_after", fmt::format("\"{}us\"", away)});
  }
  const std::string more =
      dice.number(20, 120);  // so that the remaining worker continues until they are back
  for (Row& row : draft["training"].rows) {
    if (row.key == "steps") row.value = more;
  }
}

void draw_ranges(Draft& draft, const Victims& v, Dice& dice) {
  if (v.servers < 2 || !dice.chance(0.25)) return;
  if (dice.chance(0.75)) {
    std::erase_if(draft["recovery"].rows, [](const Row& row) { return row.key == "rebalance"; });
    draft["recovery"].rows.push_back({"rebalance", "\"load\""});
  }
  if (draft.find("messages", "unit") == nullptr && dice.chance(0.5)) {
    draft["messages"].rows.push_back({"unit", "\"range\""});
    if (draft.find("placement", "kind") == nullptr)
      draft["placement"].rows = {{"kind", "\"hash-ring\""}, {"virtual_nodes", dice.number(1, 5)}};
  }
  const auto add = [&draft](std::string_view kind, std::int64_t server, std::int64_t at) {
    draft.tables.push_back({.name = "fault",
                            .many = true,
                            .rows = {{"kind", in_quotes(kind)},
                                     {"nodes", fmt::format("[\"server {}\"]", server)},
                                     {"at", fmt::format("\"{}us\"", at)}}});
  };
  for (std::int64_t left = dice.between(1, 2); left > 0; --left) {
    const std::int64_t who = dice.between(0, v.servers - 1);
    const std::int64_t first = dice.between(0, v.end_us / 2), second = first + dice.between(100, 20'000);
    const bool leaves = dice.chance(0.3);
    if (leaves) add("leave", who, first);
    add("join", who, leaves ? second : first);
    const bool meets_a_crash = leaves && dice.chance(0.3);
    if (meets_a_crash) add("crash", dice.between(0, v.servers - 1), first + dice.between(0, 2000));
  }
}

}  // namespace psim::fuzz
