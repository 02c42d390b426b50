#include "sim/protocol/message.hpp"

#include "model/mutant.hpp"
#include "sim/protocol/membership.hpp"

namespace psim {
namespace {

using Kind = MessageKind;

constexpr std::uint64_t bytes_per_id = 12;  // a worker's number and a count
constexpr std::uint64_t two_words = 16;
constexpr std::uint64_t bytes_per_size = 4;  // of a batch

std::uint64_t ids_of(const LogEntry& entry) {
  return entry.pushes.size() + entry.dropped.size() + entry.skipped.size() + entry.skipped_clocks.size() +
         entry.shown.size() + entry.left.size();
}

std::uint64_t size_of(const SharedView& view) { return view ? view->bytes() : 0; }

std::uint64_t size_of(const Join&) { return 0; }
std::uint64_t size_of(const Start& start) { return size_of(start.view); }
std::uint64_t size_of(const Leave& leave) { return leave.view ? two_words : 0; }
std::uint64_t size_of(const LeaveAck&) { return 0; }
std::uint64_t size_of(const Heartbeat& beat) { return two_words + beat.loads.size() * two_words; }
std::uint64_t size_of(const NewView& news) { return size_of(news.view); }
std::uint64_t size_of(const AskView&) { return 0; }
std::uint64_t size_of(const Ready&) { return 0; }
std::uint64_t size_of(const Report& report) { return report.decision ? two_words : 8; }
std::uint64_t size_of(const Assign& assign) {
  return two_words + (assign.sizes ? bytes_per_size * assign.sizes->size() : 0);
}
std::uint64_t size_of(const Pull& pull) {
  const std::uint64_t keys = pull.keys ? pull.keys->size() * pull.bytes_per_key : 0;
  return (pull.list.signature != 0 ? signature_bytes : 0) + (pull.list.is_listed() ? keys : 0);
}
std::uint64_t size_of(const Push& push) { return push.gradient.bytes; }
std::uint64_t size_of(const Answer& answer) { return answer.weights.bytes; }
std::uint64_t size_of(const Ack&) { return 0; }
std::uint64_t size_of(const UpdateGroup& g) { return (g.pushes.size() + g.dropped.size()) * bytes_per_id; }
std::uint64_t size_of(const Decide&) { return 0; }
std::uint64_t size_of(const Replicate& message) {
  const LogEntry& entry = *message.entry;
  std::uint64_t bytes = ids_of(entry) * bytes_per_id;
  if (entry.sum) bytes += entry.sum->gradient.bytes;
  if (entry.push) bytes += entry.push->gradient.bytes;
  for (const LogEntry::Shown& shown : entry.shown) bytes += shown.filtered.bytes;
  return bytes;
}
std::uint64_t size_of(const Replicated&) { return 0; }
std::uint64_t size_of(const State& state) { return state.bytes; }
std::uint64_t size_of(const Restore&) { return 0; }
std::uint64_t size_of(const Chunk& chunk) { return chunk.sum.bytes; }
std::uint64_t size_of(const Activations& activation) { return activation.bytes; }
std::uint64_t size_of(const Standing&) { return 8; }  // 4 for each number
std::uint64_t size_of(const Regroup& regroup) { return two_words + 4 * regroup.behind.size(); }
std::uint64_t size_of(const Fetch&) { return 0; }
std::uint64_t size_of(const Samples& samples) { return samples.sample_bytes; }
std::uint64_t size_of(const Idle&) { return two_words; }
std::uint64_t size_of(const Piece& piece) { return piece.bytes; }
std::uint64_t size_of(const PieceGradient& gradient) { return gradient.bytes; }
std::uint64_t size_of(const RunTask&) { return 2 * two_words; }
std::uint64_t size_of(const TaskDone&) { return two_words; }
std::uint64_t size_of(const Call& call) { return two_words + (call.push ? bytes_per_id : 0); }
std::uint64_t size_of(const Returned&) { return two_words; }

std::uint32_t values_of(const Payload& payload) { return static_cast<std::uint32_t>(payload.values.count); }
std::uint32_t keys_of(const SharedKeys& keys) { return static_cast<std::uint32_t>(keys ? keys->size() : 0); }

// None for the marks of nothing.
std::optional<std::int64_t> from_zero(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

MessageFacts facts(const Join& m) { return {.kind = Kind::join, .life = m.life}; }
MessageFacts facts(const Start& m) {
  return {.kind = Kind::start, .view = m.view ? std::optional(m.view->number) : std::nullopt};
}
MessageFacts facts(const Leave& m) { return {.kind = Kind::leave, .life = m.life, .view = m.view}; }
MessageFacts facts(const LeaveAck&) { return {.kind = Kind::ack}; }
MessageFacts facts(const Heartbeat& m) {
  return {.kind = Kind::heartbeat,
          .life = m.life,
          .view = from_zero(m.view),
          .ids = static_cast<std::uint32_t>(m.loads.size())};
}
MessageFacts facts(const NewView& m) { return {.kind = Kind::view, .view = m.view->number}; }
MessageFacts facts(const AskView&) { return {.kind = Kind::view}; }
MessageFacts facts(const Ready& m) {
  return {.kind = Kind::ready, .has_shard = true, .next_owner = m.next_owner};
}
MessageFacts facts(const Report& m) { return {.kind = Kind::report, .clock = m.clock}; }
MessageFacts facts(const Assign& m) {
  return {.kind = Kind::assign,
          .clock = m.clock,
          .part = m.decision,
          .samples = m.batch_size,
          .samples_before = m.samples_before};
}
MessageFacts facts(const Pull& m) {
  return {.kind = Kind::pull,
          .has_shard = true,
          .clock = m.clock,
          .above = from_zero(m.above),
          .pull = m.number,
          .pushes_before = m.pushes_sent,
          .keys = keys_of(m.keys)};
}
MessageFacts facts(const Push& m) {
  return {.kind = Kind::push,
          .has_shard = true,
          .clock = m.clock,
          .version = m.version,
          .push = m.number,
          .values = values_of(m.gradient),
          .keys = keys_of(m.gradient.keys)};
}
MessageFacts facts(const Answer& m) {
  return {.kind = m.finished ? Kind::finished : Kind::weights,
          .has_shard = true,
          .clock = m.clock,
          .version = m.version,
          .pull = m.number,
          .values = values_of(m.weights),
          .keys = keys_of(m.weights.keys)};
}
MessageFacts facts(const Ack& m) { return {.kind = Kind::ack, .has_shard = true, .push = m.number}; }
MessageFacts facts(const UpdateGroup& m) {
  return {.kind = Kind::group,
          .has_shard = true,
          .version = m.version,
          .ids = static_cast<std::uint32_t>(m.pushes.size() + m.dropped.size())};
}
MessageFacts facts(const Decide& m) {
  return {.kind = Kind::decide, .has_shard = true, .version = m.version};
}
MessageFacts facts(const Replicate& message) {
  const LogEntry& m = *message.entry;
  MessageFacts all{.kind = Kind::replicate,
                   .has_shard = true,
                   .entries = m.number,
                   .ids = static_cast<std::uint32_t>(ids_of(m))};
  const auto carries = [&all](const Payload& payload, std::int64_t clock, std::int64_t version) {
    all.clock = clock;
    all.version = version;
    all.values = values_of(payload);
    all.keys = keys_of(payload.keys);
  };
  if (m.sum) carries(m.sum->gradient, m.sum->clock, m.sum->version);
  if (m.push) carries(m.push->gradient, m.push->clock, m.push->version);
  return all;
}
MessageFacts facts(const Replicated& m) {
  return {.kind = Kind::replicated, .has_shard = true, .entries = m.entries};
}
MessageFacts facts(const State& m) {
  return {.kind = Kind::state,
          .has_shard = true,
          .version = m.version,
          .view = m.view,
          .entries = from_zero(m.entries),
          .log_epoch = m.log_epoch};
}
MessageFacts facts(const Restore& m) {
  return {
      .kind = Kind::restore, .has_shard = true, .entries = from_zero(m.entries), .log_epoch = m.log_epoch};
}
MessageFacts facts(const Chunk& m) {
  return {.kind = Kind::chunk,
          .clock = m.clock,
          .version = m.version,
          .part = m.round,
          .values = values_of(m.sum)};
}
MessageFacts of_stage(Kind kind, const Activations& m) {
  return {.kind = kind,
          .clock = m.clock,
          .version = m.version,
          .part = m.micro_batch,
          .values = static_cast<std::uint32_t>(m.values)};
}
MessageFacts facts(const Activations& m) { return of_stage(Kind::activation, m); }
MessageFacts facts(const Errors& m) { return of_stage(Kind::error, m); }
MessageFacts of_round(Kind kind, std::int64_t version, std::int64_t round) {
  return {
      .kind = kind, .version = from_zero(version), .part = round > 0 ? std::optional(round) : std::nullopt};
}
MessageFacts facts(const Standing& m) { return of_round(Kind::standing, m.version, m.round); }
MessageFacts facts(const Regroup& m) { return of_round(Kind::regroup, m.version, m.round); }
MessageFacts facts(const Fetch& m) {
  return {.kind = Kind::fetch, .part = m.step, .keys = keys_of(m.samples)};
}
MessageFacts facts(const Samples& m) { return {.kind = Kind::samples, .part = m.step}; }
MessageFacts facts(const RunTask& m) {
  return {.kind = Kind::run,
          .clock = m.clock,
          .part = m.task ? std::optional(static_cast<std::int64_t>(*m.task)) : std::nullopt};
}
MessageFacts facts(const TaskDone& m) {
  return {.kind = Kind::done, .part = static_cast<std::int64_t>(m.task)};
}
MessageFacts facts(const Call& m) {
  return {.kind = Kind::call, .has_shard = true, .part = static_cast<std::int64_t>(m.task)};
}
MessageFacts facts(const Returned& m) {
  return {.kind = Kind::returned, .has_shard = true, .part = static_cast<std::int64_t>(m.task)};
}
MessageFacts facts(const Idle& m) { return {.kind = Kind::idle, .clock = m.clock}; }
MessageFacts facts(const Piece& m) {
  return {.kind = Kind::piece,
          .clock = m.clock,
          .part = m.number,
          .samples = m.count,
          .keys = keys_of(m.samples)};
}
MessageFacts facts(const PieceGradient& m) {
  return {.kind = Kind::gradient,
          .clock = m.clock,
          .pieces = std::ssize(m.pieces),
          .samples = m.samples,
          .values = static_cast<std::uint32_t>(m.gradient ? m.gradient->size() : 0)};
}

}  // namespace

std::optional<std::int64_t> MessageFacts::number() const {
  if (kind == Kind::decide && !mutant("questions-look-alike")) return version;
  for (const auto& own : {pull, push, life, entries, part, pieces, samples}) {
    if (own) return own;
  }
  return next_owner;
}

std::uint64_t wire_size(const Body& body) {
  return std::visit([](const auto& content) { return size_of(content); }, body);
}

MessageFacts facts_of(const Body& body) {
  return std::visit([](const auto& content) { return facts(content); }, body);
}

}  // namespace psim
