#include "sim/record/spans.hpp"

#include <algorithm>

namespace psim {

SpanBook::SpanBook(NodeId first_worker, NodeId past_workers, const double& last_work,
                   std::function<void(NodeId, const Span&)> pass_on)
    : first_(first_worker),
      last_work_(&last_work),
      pass_on_(std::move(pass_on)),
      days_(past_workers - first_worker) {}

void SpanBook::on_time(NodeId worker, double now, Use use, bool through) {
  Day& day = days_[worker - first_];
  if (!(day.since < now)) return;
  const Span span{std::exchange(day.since, now), now, use, worker, day.clock};
  std::vector<Piece>& pieces = through ? day.later : day.pieces;
  if (!pieces.empty()) {
    Span& last = pieces.back().span;
    const bool goes_on = last.use == use && last.for_node == worker && last.clock == day.clock &&
                         last.message < 0 && !(last.end < span.begin);
    if (goes_on) {
      last.end = now;
      return;
    }
  }
  pieces.push_back({span});
}

void SpanBook::comes_back(NodeId worker, double now) {
  Day& day = days_[worker - first_];
  for (const Piece& piece : day.later) day.pieces.push_back({piece.span, now});
  day.later.clear();
}

void SpanBook::on(const Event& event, std::uint64_t number) {
  if (const Wait* wait = event.as<Wait>()) return on_wait(event.node, *wait);
  if (const FaultChange* fault = event.as<FaultChange>()) return on_fault(event.at, *fault);
  if (const Release* release = event.as<Release>()) {
    const std::tuple key{event.node, release->shard, release->worker};
    if (release->message) released_[key] = {release->pull, release->sender.value_or(0)};
    else released_.erase(key);
  }
  if (const Sent* sent = event.as<Sent>()) {
    const std::uint32_t shard = sent->shard.value_or(0);
    if (sent->kind == MessageKind::weights || sent->kind == MessageKind::finished)
      on_answer(event.node, *sent, static_cast<std::int64_t>(number));
    if (!is_worker(event.node)) return on_other(event.node, event.at, *sent);
    if (sent->kind == MessageKind::pull)
      asked_.try_emplace({event.node, shard, sent->pull.value_or(0)}, sent->to);
    if (sent->kind == MessageKind::join)  // a returning worker counts its pulls from 1
      asked_.erase(asked_.lower_bound({event.node, 0, 0}), asked_.lower_bound({event.node + 1, 0, 0}));
  }
  const Computation* step = event.as<Computation>();
  if (step != nullptr && step->work == Work::step && step->phase == ComputePhase::begun)
    days_[event.node - first_].clock = step->clock.value_or(0);
}

// A server that answers a pull for another server that is down, or after another node's message.
void SpanBook::on_answer(NodeId server, const Sent& answer, std::int64_t number) {
  if (!is_worker(answer.to)) return;
  const NodeId node = behind(server, answer);
  if (node != server) days_[answer.to - first_].held_up.emplace_back(number, node);
}

NodeId SpanBook::behind(NodeId server, const Sent& answer) {
  const std::uint32_t shard = answer.shard.value_or(0);
  const std::int64_t pull = answer.pull.value_or(0);
  if (answer.kind == MessageKind::weights) {
    if (const auto asked = asked_.extract({answer.to, shard, pull})) {
      const NodeId first = asked.mapped();
      if (first != server && other(first).down_since) return first;
    }
  }
  const auto released = released_.find({server, shard, answer.to});
  return released != released_.end() && released->second.first == pull ? released->second.second : server;
}

// Spans are cut where the use changes, and also at the start and the end of a wait.
void SpanBook::on_wait(NodeId worker, const Wait& wait) {
  Day& day = days_[worker - first_];
  const auto message = static_cast<std::int64_t>(wait.message);
  NodeId whom = wait.sender;
  for (const auto& [number, node] : day.held_up) whom = number == message ? node : whom;
  std::erase_if(day.held_up, [message](const auto& one) { return one.first <= message; });
  std::vector<Piece>& pieces = day.pieces;
  auto first = std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.span.end > wait.since; });
  if (first != pieces.end() && first->span.begin < wait.since) {
    Piece before = *first;
    before.span.end = first->span.begin = wait.since;
    first = pieces.insert(first, before) + 1;
  }
  for (; first != pieces.end(); ++first) {
    Span& span = first->span;
    if (span.use != Use::wait && span.use != Use::network) continue;
    span.for_node = whom;
    span.message = message;
    if (wait.clock.value_or(0) > 0) span.clock = *wait.clock;
  }
  const auto open = std::ranges::find_if(pieces, [this](const Piece& piece) {
    return std::max(piece.span.end, piece.counts_from) > *last_work_;
  });
  for (auto piece = pieces.begin(); piece != open; ++piece) pass_on_(worker, piece->span);
  pieces.erase(pieces.begin(), open);
}

void SpanBook::on_fault(double at, const FaultChange& fault) {
  if (!fault.target || is_worker(*fault.target)) return;
  std::optional<double>& down_since = other(*fault.target).down_since;
  const bool crashes = fault.kind->crashes;
  if (crashes && fault.begins && !down_since) down_since = at;
  if (crashes ? !fault.begins : fault.kind->restarts || fault.kind->joins) comes(*fault.target, at);
}

// The node exists from the start, or from its first message.
void SpanBook::on_other(NodeId node, double at, const Sent& message) {
  Other& sender = other(node);
  const bool is_first = !std::exchange(sender.seen, true);
  if (is_first && message.kind == MessageKind::join && at > 0) sender.down_since = 0;
  comes(node, at);
}

void SpanBook::comes(NodeId node, double at) {
  const std::optional<double> since = std::exchange(other(node).down_since, std::nullopt);
  if (since && *since < at) pass_on_(node, {.begin = *since, .end = at, .use = Use::down, .for_node = node});
}

void SpanBook::close(NodeId worker, double at) {
  Day& day = days_[worker - first_];
  for (auto& [span, counts_from] : day.pieces) {
    span.end = std::min(span.end, at);
    if (span.begin < span.end && counts_from <= at) pass_on_(worker, span);
  }
  day.pieces.clear();
}

void SpanBook::close(double at) {
  for (NodeId node = 0; node < others_.size(); ++node) comes(node, at);
}

}  // namespace psim
