#include "tests/sim/protocol/script_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace psim::test {

std::string number(double value) { return fmt::format("{:.6g}", value == 0 ? 0.0 : value); }
std::string number(const Slice& values) {
  return values.values ? number(values.as<double>().front()) : "none";
}

std::string Names::of(NodeId node) const {
  if (node == scheduler_node) return "sched";
  return is_server(node) ? fmt::format("s{}", node - 1) : fmt::format("w{}", node - first_worker());
}

NodeId Names::find(const std::string& name) const {
  if (name == "sched") return scheduler_node;
  const bool is_name = name.size() > 1 && (name.front() == 's' || name.front() == 'w');
  if (!is_name) throw std::runtime_error("no node is called " + name);
  const auto index = static_cast<NodeId>(std::stoul(name.substr(1)));
  return name.front() == 's' ? 1 + index : first_worker() + index;
}

std::string Names::describe(const std::vector<PushId>& pushes) const {
  std::vector<std::string> words;
  for (const PushId& id : pushes) words.push_back(fmt::format("{}#{}", of(id.worker), id.number));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string Names::describe(const std::vector<bool>& members) const {
  std::vector<std::string> words;
  for (NodeId w = 0; w < members.size(); ++w) {
    if (members[w]) words.push_back(of(first_worker() + w));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string Names::describe(const View& view) const {
  std::string text = fmt::format("view {}:", view.number);
  const auto list = [this](const std::vector<NodeId>& nodes) {
    std::vector<std::string> words;
    for (const NodeId node : nodes) words.push_back(of(node));
    return fmt::format("{}", fmt::join(words, " "));
  };
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    text += fmt::format(" shard {} on {} (epoch {})", s, of(owner.primary), owner.epoch);
    if (!owner.replicas.empty()) text += ", copies on " + list(owner.replicas);
    if (!owner.from.empty()) text += ", from " + list(owner.from);
    if (owner.next != 0) text += ", next " + of(owner.next);
    text += ";";
  }
  return text + " workers " + describe(view.workers);
}

namespace {

struct Words {
  const Names& names;

  std::string operator()(const Pull& pull) const {
    std::string text = fmt::format("pull {} for clock {}", pull.number, pull.clock);
    if (pull.above >= 0) text += fmt::format(", newer than version {}", pull.above);
    if (!pull.pushes_sent) text += ", just back";
    else if (*pull.pushes_sent > 0) text += fmt::format(", after {} pushes", *pull.pushes_sent);
    if (pull.skipped_clocks > 0) text += fmt::format(", {} clocks skipped", pull.skipped_clocks);
    return text;
  }
  std::string operator()(const Push& push) const {
    std::string text = fmt::format("push {} of version {}", push.number, push.version);
    if (!names.fresh) text += fmt::format(", clock {}", push.clock);
    return text + ", gradient " + number(push.gradient.values);
  }
  std::string operator()(const Answer& answer) const {
    if (answer.finished) return fmt::format("finished at version {}", answer.version);
    std::string text = fmt::format("weights {} of version {}", number(answer.weights.values), answer.version);
    if (answer.safe_pushes > 0) text += fmt::format(", {} pushes safe", answer.safe_pushes);
    if (answer.has_push) text += ", your push waits here";
    if (answer.skip_clocks > 0) text += fmt::format(", skip {} clocks", answer.skip_clocks);
    return text;
  }
  std::string operator()(const Ack& ack) const {
    return fmt::format("ack of push {}, {} pushes safe", ack.number, ack.safe_pushes);
  }
  std::string operator()(const UpdateGroup& group) const {
    return fmt::format("the update of version {} takes {}", group.version, names.describe(group.pushes));
  }
  std::string operator()(const Decide& decide) const {
    return fmt::format("what does the update of version {} take?", decide.version);
  }
  std::string operator()(const Replicate& replicate) const { return of(*replicate.entry); }
  std::string operator()(const Replicated& replicated) const {
    return replicated.entries ? fmt::format("has all entries below {}", *replicated.entries) : "has no state";
  }
  std::string operator()(const State& state) const {
    if (state.shard) return fmt::format("state of version {}, before entry {}", state.version, state.entries);
    return state.rest ? fmt::format("the last {} entries", state.rest->size()) : "has nothing newer";
  }
  std::string operator()(const Restore& restore) const {
    if (restore.entries < 0) return "what do you have? has nothing";
    return fmt::format("what do you have? has all entries below {} of epoch {}", restore.entries,
                       restore.log_epoch);
  }
  std::string operator()(const NewView& news) const { return fmt::format("view {}", news.view->number); }
  std::string operator()(const Ready& ready) const { return names.of(ready.next_owner) + " has the state"; }
  std::string operator()(const auto&) const { throw std::runtime_error("a script does not send that"); }

 private:
  std::string of(const LogEntry& entry) const {
    std::string text = fmt::format("entry {}:", entry.number);
    if (!entry.dropped.empty()) text += fmt::format(" {} dropped;", names.describe(entry.dropped));
    if (!entry.skipped.empty()) text += fmt::format(" none before {};", names.describe(entry.skipped));
    if (!entry.skipped_clocks.empty())
      text += fmt::format(" clocks skipped {};", names.describe(entry.skipped_clocks));
    if (!entry.members.empty()) text += fmt::format(" workers {};", names.describe(entry.members));
    for (const LogEntry::Shown& shown : entry.shown)
      text += fmt::format(" shown to {};", names.of(shown.worker));
    if (entry.push) text += fmt::format(" push {};", names.describe(std::vector{entry.push->id()}));
    if (entry.updates) text += " an update of all that wait;";
    if (!entry.left.empty()) text += fmt::format(" but {};", names.describe(entry.left));
    if (entry.sum) {
      text += fmt::format(" version {} by {} of {};", entry.sum->version, number(entry.sum->gradient.values),
                          names.describe(entry.pushes));
    }
    text.pop_back();
    return text;
  }
};

}  // namespace

std::string Names::describe(const Message& message) const {
  std::string where;
  const bool is_of_shard = !message.is<NewView>();
  if (is_of_shard && shards > 1) where = fmt::format("shard {}", message.shard);
  if (message.epoch > 0) where += fmt::format("{}epoch {}", where.empty() ? "" : ", ", message.epoch);
  if (!where.empty()) where = " [" + where + "]";
  return fmt::format("{} -> {}{}: {}", of(message.from), of(message.to), where,
                     std::visit(Words{*this}, message.body));
}

}  // namespace psim::test
