#include "model/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/base/random.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"

namespace psim {

namespace {

using Shard = std::vector<std::uint32_t>;

// Asynchronous workers can be epochs apart; if they use more epochs than this at once, epochs are recomputed
// in turn.
constexpr std::size_t shared_epochs = 4;
constexpr std::size_t own_epochs = 2;

// The beginning of piece `i` if n things are cut into `pieces` pieces whose sizes differ by at most one.
std::uint64_t piece_begin(std::uint64_t n, std::uint64_t pieces, std::uint64_t i) {
  return n / pieces * i + std::min(i, n % pieces);
}

std::vector<Shard> cut(const Shard& samples, std::uint32_t workers) {
  std::vector<Shard> shards;
  for (std::uint32_t w = 0; w < workers; ++w)
    shards.emplace_back(samples.begin() + piece_begin(samples.size(), workers, w),
                        samples.begin() + piece_begin(samples.size(), workers, w + 1));
  return shards;
}

// Shares of the workers in one class, distributed as Dirichlet(alpha, ..., alpha): gamma variables divided by
// their sum. They are drawn as logarithms, G(alpha) = G(alpha + 1) * U^(1/alpha), because for a small alpha
// all of them would be zero.
std::vector<double> dirichlet(const Sampler::Options& options, std::uint64_t label) {
  std::vector<double> shares;
  for (std::uint32_t w = 0; w < options.workers; ++w) {
    Stream stream(options.seed, "partition.dirichlet", label, w);
    const double gamma = stream.gamma(options.dirichlet_alpha + 1.0);
    shares.push_back(numerics::log(gamma) + numerics::log(stream.uniform()) / options.dirichlet_alpha);
  }
  const double largest = *std::max_element(shares.begin(), shares.end());
  double sum = 0.0;
  for (double& share : shares) {
    share = numerics::exp(share - largest);
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Hsu, Qi, Brown: Measuring the effects of non-identical data distribution for federated visual
// classification, 2019. Shares are drawn per class, so the shards differ in size.
std::vector<Shard> deal_by_dirichlet(const Dataset& train, const Sampler::Options& options) {
  std::vector<Shard> by_class(static_cast<std::size_t>(train.classes));
  for (std::uint32_t i = 0; i < train.labels.size(); ++i) by_class[train.labels[i]].push_back(i);

  std::vector<Shard> shards(options.workers);
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    const Shard& members = by_class[label];
    const auto count = static_cast<std::uint32_t>(members.size());
    const auto order = permutation(count, Stream(options.seed, "partition.dirichlet.deal", label));
    const std::vector<double> shares = dirichlet(options, label);
    double dealt_share = 0.0;
    std::size_t dealt = 0;
    for (std::uint32_t w = 0; w < options.workers; ++w) {
      dealt_share += shares[w];
      const bool last = w + 1 == options.workers;
      const auto until = last ? count : static_cast<std::size_t>(std::lround(dealt_share * count));
      for (; dealt < std::min<std::size_t>(until, count); ++dealt) shards[w].push_back(members[order[dealt]]);
    }
  }

  for (Shard& shard : shards) {
    if (!shard.empty()) continue;
    const auto larger = [](const Shard& a, const Shard& b) { return a.size() < b.size(); };
    Shard& donor = *std::max_element(shards.begin(), shards.end(), larger);
    shard.push_back(donor.back());
    donor.pop_back();
  }
  for (Shard& shard : shards) std::sort(shard.begin(), shard.end());
  return shards;
}

std::vector<Shard> deal(const Dataset& train, const Sampler::Options& options) {
  if (options.partition == Partition::iid) return std::vector<Shard>(options.workers);
  if (train.size() < options.workers)
    throw DataError(std::to_string(train.size()) + " training samples cannot be dealt out to " +
                        std::to_string(options.workers) + " workers",
                    "use the partition `iid`, fewer workers or more samples");
  Shard samples(static_cast<std::size_t>(train.size()));
  std::iota(samples.begin(), samples.end(), 0U);
  if (options.partition == Partition::contiguous) return cut(samples, options.workers);

  if (train.classes == 0) throw std::logic_error("a partition by class of data without classes");
  if (options.partition == Partition::dirichlet) return deal_by_dirichlet(train, options);
  std::stable_sort(samples.begin(), samples.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return train.labels[a] < train.labels[b]; });
  return cut(samples, options.workers);
}

}  // namespace

Sampler::Sampler(const Dataset& train, Options options)
    : options_(options), samples_(static_cast<std::uint32_t>(train.size())) {
  if (train.size() < 1 || train.size() > std::numeric_limits<std::int32_t>::max())
    throw std::logic_error("a sampler of no samples, or of too many");
  if (options.workers < 1 || options.batch < 1 || !(options.dirichlet_alpha > 0.0))
    throw std::logic_error("a sampler without workers, with empty batches or without a positive alpha");
  shards_ = deal(train, options_);
  const bool shared = options_.partition == Partition::iid;
  epochs_.assign(shared ? 1 : options_.workers, std::vector<Epoch>(shared ? shared_epochs : own_epochs));
}

std::vector<std::uint32_t> Sampler::batch(std::uint32_t worker, std::int64_t step) {
  const bool shared = options_.partition == Partition::iid;
  return samples(worker, (shared ? step * options_.workers + worker : step) * options_.batch, options_.batch);
}

std::vector<std::uint32_t> Sampler::samples(std::uint32_t worker, std::int64_t position, std::int64_t count,
                                            const std::vector<bool>& members) {
  const bool shared = options_.partition == Partition::iid;
  const std::uint32_t stream = shared ? 0 : worker;
  const Shard& shard = shared ? shards_.front() : shard_among(worker, members);
  const std::int64_t epoch_size = shared ? samples_ : static_cast<std::int64_t>(shard.size());

  std::vector<std::uint32_t> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (std::int64_t missing = count; missing > 0;) {
    const std::int64_t from = position % epoch_size;
    const std::int64_t taken = std::min(missing, epoch_size - from);
    const Shard& epoch = order(stream, position / epoch_size, shard);
    samples.insert(samples.end(), epoch.begin() + from, epoch.begin() + from + taken);
    position += taken;
    missing -= taken;
  }
  return samples;
}

const Sampler::Shard& Sampler::shard_among(std::uint32_t worker, const std::vector<bool>& members) {
  const auto here = static_cast<std::uint32_t>(std::count(members.begin(), members.end(), true));
  if (here == members.size() || !members[worker]) return shards_[worker];  // also without members
  std::vector<Shard>& shards = shared_out_[members];
  if (shards.empty()) {
    shards = shards_;
    for (std::uint32_t gone = 0; gone < members.size(); ++gone) {
      if (members[gone]) continue;
      const std::vector<Shard> pieces = cut(shards_[gone], here);
      for (std::uint32_t w = 0, i = 0; w < members.size(); ++w) {
        if (members[w]) shards[w].insert(shards[w].end(), pieces[i].begin(), pieces[i].end()), ++i;
      }
    }
  }
  return shards[worker];
}

const std::vector<std::uint32_t>& Sampler::order(std::uint32_t stream, std::int64_t epoch,
                                                 const Shard& shard) {
  std::vector<Epoch>& cache = epochs_[stream];
  auto entry = std::find_if(cache.begin(), cache.end(),
                            [&](const Epoch& e) { return e.number == epoch && e.shard == &shard; });
  if (entry == cache.end()) {
    --entry;  // the least recently used epoch
    const std::uint32_t size = shard.empty() ? samples_ : static_cast<std::uint32_t>(shard.size());
    entry->number = epoch;
    entry->shard = &shard;
    entry->order = permutation(size, Stream(options_.seed, "sampler.epoch", stream, epoch));
    if (!shard.empty())
      for (std::uint32_t& sample : entry->order) sample = shard[sample];
  }
  std::rotate(cache.begin(), entry, entry + 1);  // the last used epoch comes first
  return cache.front().order;
}

}  // namespace psim
