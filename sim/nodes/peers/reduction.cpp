#include "sim/nodes/peers/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/rounding.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

Reduction::Reduction(JobContext& job, Mailbox& mailbox, Strand& strand, const PeerGroup& group, Range range,
                     std::int64_t first_round)
    : job_(job),
      mailbox_(mailbox),
      strand_(strand),
      group_(group),
      range_(range),
      first_round_(first_round),
      filters_(filters_on(job.plan.scenario.filters, true)),
      gathers_(std::ranges::any_of(
          filters_, [](const FilterSpec& filter) { return static_cast<bool>(filter.kind->select); })) {
  const AllReduceAlgorithm algorithm = job.plan.scenario.architecture.algorithm;
  rounds_ = gathers_ ? gathering(algorithm, group.size(), group.rank)
                     : exchanges(algorithm, group.size(), group.rank);
  chunks_ = chunk_count(algorithm, group.size());
  first_whole_ =
      static_cast<std::size_t>(std::ranges::find(rounds_, false, &Exchange::reduces) - rounds_.begin());
  if (filters_.empty()) return;
  coded_.resize(chunks_);
  chains_.resize(rounds_.size());
  if (gathers_) {
    whole_ = chain_of(range);
    return;
  }
  for (std::size_t i = 0; i < first_whole_; ++i) {
    if (rounds_[i].send) chains_[i] = chain_of(range_of(rounds_[i].send->chunks));
  }
  const bool has_first = first_whole_ < rounds_.size() && rounds_[first_whole_].send;
  if (has_first) whole_ = chain_of(range_of(rounds_[first_whole_].send->chunks));
}

Range Reduction::range_of(Chunks chunks) const {
  const Range part = psim::range_of(chunks, range_.count, chunks_);
  return {range_.begin + part.begin, part.count};
}

std::unique_ptr<FilterChain> Reduction::chain_of(Range range) const {
  return std::make_unique<FilterChain>(
      FilterChain::Options{.filters = filters_,
                           .precision = job_.plan.precision(),
                           .count = range.count,
                           .first_key = range.begin,
                           .seed = static_cast<std::uint64_t>(job_.plan.scenario.seed),
                           .sender = mailbox_.node(),
                           .scale = job_.plan.loss_scale(),
                           .buffers = job_.state.filter_buffers});
}

void Reduction::run(std::int64_t clock, const Slice& weights, const std::shared_ptr<Values>& gradient) {
  if (group_.size() == 1) return;
  clock_ = clock;
  weights_ = weights;
  gradient_ = gradient;
  if (gathers_) gather();
  else
    for (std::size_t i = 0; i < rounds_.size(); ++i) exchange(i);
  gradient_.reset();
  weights_ = {};
}

Payload Reduction::coded(FilterChain* chain, Range range) {
  const Slice values{gradient_, range.begin, range.count};
  if (chain == nullptr) return {.values = values, .bytes = plain_bytes(range)};
  Slice weights = weights_;
  if (weights.values) weights = {weights.values, weights.begin + range.begin, range.count};
  Encoded encoded = chain->encode(values, {}, weights, job_.plan.scenario.training.optimizer.l1);
  strand_.filter(encoded.flops);
  return payload_of(std::move(encoded));
}

void Reduction::send(NodeId to, std::int64_t round, Payload sum,
                     std::shared_ptr<const std::vector<Payload>> gradients) {
  mailbox_.send(to, Chunk{.clock = clock_,
                          .version = clock_,
                          .round = first_round_ + round,
                          .sum = std::move(sum),
                          .gradients = std::move(gradients)});
}

// A worker sends and receives at the same time, and continues when both are done. The sent values need no
// copy: only a sum that depends on the receiver's reading changes them, so they change after the receiver has
// read them.
void Reduction::exchange(std::size_t number) {
  const Exchange& round = rounds_[number];
  if (round.send) {
    const Chunks chunks = round.send->chunks;
    if (number == first_whole_ && whole_) code_sum(chunks);
    const NodeId to = node_of(round.send->worker);
    if (round.reduces)
      send(to, round.round, coded(chains_.empty() ? nullptr : chains_[number].get(), range_of(chunks)));
    else send(to, round.round, whole_sum(chunks));
  }
  if (round.receive) {
    const Message message =
        mailbox_.take(MessageKind::chunk, node_of(round.receive->worker), clock_, first_round_ + round.round);
    receive(round, message.as<Chunk>()->sum);
  }
  mailbox_.flush();
}

Payload Reduction::whole_sum(Chunks chunks) const {
  const Range range = range_of(chunks);
  const auto first = coded_.begin() + chunks.first, last = coded_.begin() + chunks.last;
  return {.values = {gradient_, range.begin, range.count},
          .bytes = coded_.empty() ? plain_bytes(range) : std::accumulate(first, last, std::uint64_t{0})};
}

// This worker must have the same values that the others will read.
void Reduction::code_sum(Chunks own) {
  const Range range = range_of(own);
  const Payload sum = coded(whole_.get(), range);
  note_bytes(own, sum.bytes);
  if (gradient_ && sum.values.values != gradient_)
    gradient_->copy_from(*sum.values.values, sum.values.begin, sum.values.count, range.begin);
}

void Reduction::note_bytes(Chunks chunks, std::uint64_t bytes) {
  if (coded_.empty()) return;
  for (std::uint32_t c = chunks.first; c < chunks.last; ++c) coded_[c] = c == chunks.first ? bytes : 0;
}

void Reduction::receive(const Exchange& round, const Payload& sum) {
  const Slice& part = sum.values;
  const std::size_t begin = range_of(round.receive->chunks).begin;
  expects(part.count == range_of(round.receive->chunks).count, "a message has its round's values");
  if (!round.reduces) note_bytes(round.receive->chunks, sum.bytes);
  if (!gradient_) return;
  if (round.reduces) add(part, begin);
  else gradient_->copy_from(*part.values, part.begin, part.count, begin);
}

// Sums are sent on, so they are rounded like all sent values.
void Reduction::add(const Slice& part, std::size_t begin) {
  with_scalar(gradient_->precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto from = part.as<Scalar>();
    const auto into = gradient_->as<Scalar>().subspan(begin, part.count);
    const auto is_finite = [](Scalar x) { return std::isfinite(x); };
    const bool rounds = !gathers_ && is_half(job_.plan.precision());
    const bool was_finite =
        rounds && std::ranges::all_of(from, is_finite) && std::ranges::all_of(into, is_finite);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    if (rounds) round_to(job_.plan.precision(), into, job_.plan.loss_scale());
    if (was_finite && !std::ranges::all_of(into, is_finite)) job_.state.totals.overflow_of_sum();
  });
}

void Reduction::gather() {
  std::vector<Payload> gradients(group_.size());
  gradients[group_.rank] = coded(whole_.get(), range_);
  for (const Exchange& round : rounds_) {
    if (round.send) {
      const auto first = gradients.begin() + round.send->chunks.first;
      const auto last = gradients.begin() + round.send->chunks.last;
      Payload all;
      for (auto one = first; one != last; ++one) {
        all.values.count += one->values.count;
        all.bytes += one->bytes;
      }
      send(node_of(round.send->worker), round.round, all,
           std::make_shared<const std::vector<Payload>>(first, last));
    }
    if (round.receive) {
      const Message message = mailbox_.take(MessageKind::chunk, node_of(round.receive->worker), clock_,
                                            first_round_ + round.round);
      std::ranges::copy(*message.as<Chunk>()->gradients, gradients.begin() + round.receive->chunks.first);
    }
    mailbox_.flush();
  }
  if (!gradient_) return;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    const Slice& one = gradients[rank].values;
    if (rank == 0) gradient_->copy_from(*one.values, one.begin, one.count, range_.begin);
    else add(one, range_.begin);
  }
}

}  // namespace psim
