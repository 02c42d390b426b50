#include "sim/apps/cli/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "analysis/columns.hpp"
#include "analysis/page/page.hpp"
#include "analysis/verify.hpp"
#include "analysis/word_docs.hpp"
#include "sim/apps/cli/glossary.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/task_kind.hpp"
#include "sim/record/event_words.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace psim::cli {
namespace {

using analysis::ColumnDoc;
using analysis::FieldDoc;

struct Kind {
  std::string_view name, doc;
};

// In the order of MessageKind.
constexpr Kind message_docs[] = {
    {"join", "To the scheduler: this node is up and wants to take part."},
    {"start", "From the scheduler: all nodes are up, so training begins."},
    {"pull",
     "A worker asks a server for weights; the server answers when the worker may start its next clock."},
    {"weights", "A server's answer to a pull: the weights, or the news that no clock is left."},
    {"push", "A worker sends a gradient to a server and so ends a clock."},
    {"group",
     "From the server of the first shard to the other servers: which pushes make an update (as under "
     "k-async)."},
    {"finished", "A worker tells the servers that it has finished all its clocks."},
    {"leave",
     "To the scheduler: a worker has finished its clocks, or a server hands over its shards and leaves."},
    {"ack", "A server has a push: it applied or dropped the push, or all replicas have it."},
    {"chunk", "All-reduce: a partial sum of gradients."},
    {"activation", "Pipeline: a stage's output for a micro-batch, to the next stage."},
    {"error", "Pipeline: the derivative of the loss by these activations, to the previous stage."},
    {"report", "To the scheduler: a worker's measured time for one sample."},
    {"assign", "From the scheduler: a worker's new batch size, and the clock when it begins."},
    {"fetch", "A worker asks the database, or another worker, for samples."},
    {"samples", "The samples that a worker requested."},
    {"idle", "To another worker: I have finished my samples and can compute some of yours."},
    {"piece", "To another worker: compute these samples of my batch."},
    {"heartbeat", "To the scheduler: this node is alive."},
    {"view", "From the scheduler: the nodes that take part from now on, and the owner of each shard."},
    {"replicate", "To a shard's replica: entries of the shard's log."},
    {"replicated", "A replica's answer: how many entries of the log it has."},
    {"state", "A whole shard, or the part that the receiver lacks: to the next owner or to storage."},
    {"restore", "A new owner asks for a shard's state."},
    {"decide", "A server asks the first shard's server which pushes made an update."},
    {"ready", "To the scheduler: a shard's next owner has its state."},
    {"standing",
     "Without servers, to the first worker of a new group: the number of updates in the sender's copy."},
    {"regroup", "Its answer: the copy of the model with which the group continues."},
    {"run", "From the scheduler to a worker: do this task."},
    {"done", "A worker tells the scheduler that a task is done."},
    {"call", "From the scheduler to a server: run this function on a shard."},
    {"returned", "A server's answer: the function is done."},
    {"gradient", "To another worker: the gradient of the samples that it gave away."},
};
static_assert(std::ranges::equal(message_names, message_docs, {}, {}, &Kind::name));

// In the order of TaskKind.
constexpr Kind task_docs[] = {
    {"pull", "A worker gets the weights."},
    {"gradient", "A worker computes a gradient on the weights that it has."},
    {"push", "A worker sends its gradient to the servers. There it waits for a task that uses it."},
    {"apply", "One push changes the weights."},
    {"update", "All waiting pushes change the weights as one update."},
    {"scale", "Servers multiply the weights by a number."},
    {"clip", "Servers cut weights at a bound."},
    {"norm", "Servers compute the Euclidean norm of the weights."},
};
static_assert(std::ranges::equal(task_names, task_docs, {}, {}, &Kind::name));

std::vector<FieldDoc> all_docs() {
  std::vector<FieldDoc> all;
  const auto add = [&all](std::span<const FieldDoc> docs) {
    std::ranges::copy(docs, std::back_inserter(all));
  };
  add(analysis::study_field_docs);
  add(analysis::summary_docs());
  add(analysis::fact_docs());
  add(analysis::cause_docs());
  add(analysis::word_docs());
  add(analysis::suspect_docs());
  for (const auto& [name, doc] : message_docs) all.push_back({name, "kinds of messages", doc});
  for (const auto& [name, doc] : task_docs) all.push_back({name, "kinds of tasks", doc});
  return all;
}

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\n  " : std::string(1, c);
  return out;
}

std::string without_brackets(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == '[' || c == ']' || c == '(' || c == ')'; });
  return out;
}

// On a command line a name may have hyphens instead of blanks, and may omit units such as "[%]": then it
// needs no quotes.
std::string spaced(std::string_view name) {
  std::string out = without_brackets(name);
  std::ranges::replace(out, '-', ' ');
  std::ranges::replace(out, '_', ' ');
  return out;
}

void add_columns(std::string_view name, std::vector<std::string>& texts) {
  for (const ColumnDoc& column : analysis::column_docs) {
    const std::string heading = analysis::heading_of(column);
    if (spaced(name) != spaced(column.name) && spaced(name) != spaced(heading)) continue;
    texts.push_back(
        fmt::format("{}, {}:\n  {}\n", heading,
                    column.where.empty() ? "where psim prints it" : fmt::format("in {}", column.where),
                    indented(column.doc)));
  }
}

void add_docs(std::string_view name, std::vector<std::string>& texts) {
  for (const FieldDoc& doc : all_docs()) {
    const std::string known = spaced(doc.name);
    if (known == spaced(name) || known == spaced(name) + " s")
      texts.push_back(fmt::format("{}, in {}:\n  {}\n", doc.name, doc.where, indented(doc.doc)));
  }
}

void add_checks(std::string_view name, std::vector<std::string>& texts) {
  for (const analysis::CheckReport& check : analysis::check_docs()) {
    if (check.name == name)
      texts.push_back(fmt::format("{}, a check of psim verify:\n  {}\n", name, check.promise));
  }
}

}  // namespace

std::vector<std::string> texts_of_word(std::string_view name) {
  std::vector<std::string> texts{explain_word(name)};
  add_columns(name, texts);
  add_docs(name, texts);
  add_checks(name, texts);
  texts.push_back(explain_event(name));
  texts.push_back(explain_unit(name));
  std::erase(texts, "");
  // Names with an underscore belong to files.
  if (texts.empty() || name.find('_') != std::string_view::npos) texts.push_back(explain_event_column(name));
  texts.push_back(about_subcommand(name));
  std::erase(texts, "");
  return texts;
}

std::vector<std::string> printed_words() {
  std::vector<std::string> words = glossary_words();
  for (const ColumnDoc& column : analysis::column_docs) words.emplace_back(column.name);
  for (const FieldDoc& doc : all_docs()) words.emplace_back(doc.name);
  for (const analysis::CheckReport& check : analysis::check_docs()) words.push_back(check.name);
  std::ranges::move(event_words(), std::back_inserter(words));
  return words;
}

}  // namespace psim::cli
