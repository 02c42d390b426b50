#include "sim/protocol/message.hpp"

#include "sim/protocol/membership.hpp"

namespace psim {
namespace {

using Kind = MessageKind;

constexpr std::uint64_t bytes_per_id = 12;  // a worker's number and a count
constexpr std::uint64_t two_words = 16;

std::uint64_t ids_of(const LogEntry& entry) {
  return entry.pushes.size() + entry.dropped.size() + entry.skipped.size() + entry.ahead.size() +
         entry.shown.size() + entry.left.size();
}

std::uint64_t size_of(const SharedView& view) { return view ? view->bytes() : 0; }

std::uint64_t size_of(const Join&) { return 0; }
std::uint64_t size_of(const Start& start) { return size_of(start.view); }
std::uint64_t size_of(const Leave& leave) { return leave.view ? two_words : 0; }
std::uint64_t size_of(const LeaveAck&) { return 0; }
std::uint64_t size_of(const Heartbeat&) { return two_words; }
std::uint64_t size_of(const NewView& news) { return size_of(news.view); }
std::uint64_t size_of(const AskView&) { return 0; }
std::uint64_t size_of(const Ready&) { return 0; }
std::uint64_t size_of(const Report&) { return 8; }
std::uint64_t size_of(const Assign&) { return two_words; }
std::uint64_t size_of(const Pull& pull) { return pull.keys ? pull.keys->size() * pull.bytes_per_key : 0; }
std::uint64_t size_of(const Push& push) { return push.gradient.bytes; }
std::uint64_t size_of(const Answer& answer) { return answer.weights.bytes; }
std::uint64_t size_of(const Ack&) { return 0; }
std::uint64_t size_of(const UpdateGroup& g) { return g.pushes.size() * bytes_per_id; }
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
std::uint64_t size_of(const Fetch&) { return 0; }
std::uint64_t size_of(const Samples& samples) { return samples.sample_bytes; }
std::uint64_t size_of(const Idle&) { return two_words; }
std::uint64_t size_of(const Piece& piece) { return piece.sample_bytes; }

std::uint32_t values_of(const Payload& payload) { return static_cast<std::uint32_t>(payload.values.count); }
std::uint32_t keys_of(const SharedKeys& keys) { return static_cast<std::uint32_t>(keys ? keys->size() : 0); }

MessageFacts facts(const Join& m) { return {.kind = Kind::join, .number = m.life}; }
MessageFacts facts(const Start& m) { return {.kind = Kind::start, .version = m.view ? m.view->number : 0}; }
MessageFacts facts(const Leave& m) {
  return {.kind = Kind::leave, .version = m.view.value_or(0), .number = m.life};
}
MessageFacts facts(const LeaveAck&) { return {.kind = Kind::ack}; }
MessageFacts facts(const Heartbeat& m) {
  return {.kind = Kind::heartbeat, .clock = m.is_through ? 1 : 0, .version = m.view, .number = m.life};
}
MessageFacts facts(const NewView& m) { return {.kind = Kind::view, .version = m.view->number}; }
MessageFacts facts(const AskView&) { return {.kind = Kind::view}; }
MessageFacts facts(const Ready& m) { return {.kind = Kind::ready, .number = m.next_owner}; }
MessageFacts facts(const Report& m) { return {.kind = Kind::report, .clock = m.clock}; }
MessageFacts facts(const Assign& m) {
  return {.kind = Kind::assign, .clock = m.clock, .version = m.samples_before, .number = m.batch_size};
}
MessageFacts facts(const Pull& m) {
  return {.kind = Kind::pull,
          .clock = m.clock,
          .version = m.above,
          .number = m.number,
          .pushes_before = static_cast<std::uint64_t>(m.pushes_sent.value_or(0)),
          .keys = keys_of(m.keys)};
}
MessageFacts facts(const Push& m) {
  return {.kind = Kind::push,
          .clock = m.clock,
          .version = m.version,
          .number = m.number,
          .values = values_of(m.gradient),
          .keys = keys_of(m.gradient.keys)};
}
MessageFacts facts(const Answer& m) {
  return {.kind = m.finished ? Kind::finished : Kind::weights,
          .clock = m.clock,
          .version = m.version,
          .number = m.number,
          .values = values_of(m.weights),
          .keys = keys_of(m.weights.keys)};
}
MessageFacts facts(const Ack& m) { return {.kind = Kind::ack, .number = m.number}; }
MessageFacts facts(const UpdateGroup& m) {
  return {.kind = Kind::group, .version = m.version, .ids = static_cast<std::uint32_t>(m.pushes.size())};
}
MessageFacts facts(const Decide& m) { return {.kind = Kind::decide, .version = m.version}; }
MessageFacts facts(const Replicate& message) {
  const LogEntry& m = *message.entry;
  MessageFacts all{.kind = Kind::replicate, .number = m.number, .ids = static_cast<std::uint32_t>(ids_of(m))};
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
  return {.kind = Kind::replicated, .number = m.entries.value_or(-1)};
}
MessageFacts facts(const State& m) {
  return {.kind = Kind::state, .clock = m.view, .version = m.version, .number = m.entries};
}
MessageFacts facts(const Restore& m) {
  return {.kind = Kind::restore, .version = m.log_epoch, .number = m.entries};
}
MessageFacts facts(const Chunk& m) {
  return {.kind = Kind::chunk,
          .clock = m.clock,
          .version = m.version,
          .number = m.round,
          .values = values_of(m.sum)};
}
MessageFacts of_stage(Kind kind, const Activations& m) {
  return {.kind = kind,
          .clock = m.clock,
          .version = m.version,
          .number = m.micro_batch,
          .values = static_cast<std::uint32_t>(m.values)};
}
MessageFacts facts(const Activations& m) { return of_stage(Kind::activation, m); }
MessageFacts facts(const Errors& m) { return of_stage(Kind::error, m); }
MessageFacts facts(const Fetch& m) { return {.kind = Kind::fetch, .number = m.step}; }
MessageFacts facts(const Samples& m) { return {.kind = Kind::samples, .number = m.step}; }
MessageFacts facts(const Idle& m) { return {.kind = Kind::idle, .clock = m.clock, .number = m.pieces_got}; }
MessageFacts facts(const Piece& m) {
  return {.kind = Kind::piece, .clock = m.clock, .number = m.count, .keys = keys_of(m.samples)};
}

}  // namespace

std::uint64_t wire_size(const Body& body) {
  return std::visit([](const auto& content) { return size_of(content); }, body);
}

MessageFacts facts_of(const Body& body) {
  return std::visit([](const auto& content) { return facts(content); }, body);
}

}  // namespace psim
