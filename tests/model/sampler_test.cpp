// Goal: no sample is lost or seen twice, whoever asks in whatever order. Method: the laws of the partitions,
// checked over small data sets whose sizes divide nothing.
#include "model/sampler.hpp"
#include "model/dataset.hpp"

#include <algorithm>
#include <numeric>

#include "tests/support/catch.hpp"

using namespace psim;
using Indices = std::vector<std::uint32_t>;

namespace {

Dataset classified(std::int64_t samples, int classes) {
  Dataset data;
  data.inputs = SampleMatrix::Zero(samples, 1);
  data.classes = classes;
  for (std::int64_t i = 0; i < samples; ++i) data.labels.push_back(static_cast<int>(i * 7 % classes));
  return data;
}

Indices all(std::uint32_t n) {
  Indices indices(n);
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

void append(Indices& to, const Indices& more) { to.insert(to.end(), more.begin(), more.end()); }

Indices all_shards(const Sampler& sampler, std::uint32_t workers) {
  Indices indices;
  for (std::uint32_t w = 0; w < workers; ++w) append(indices, sampler.shard(w));
  return indices;
}

std::int64_t size_of(const Sampler& sampler, std::uint32_t worker) {
  return std::ssize(sampler.shard(worker));
}

}  // namespace

TEST_CASE("workers together see what one worker with their batches combined sees", "[sampler]") {
  const Dataset data = classified(103, 5);
  const std::uint32_t workers = GENERATE(1U, 3U, 8U);
  const std::int64_t batch = GENERATE(1, 7, 60);
  const std::int64_t together = batch * workers;
  Sampler many(data, {.workers = workers, .batch = batch, .seed = 5});
  Sampler one(data, {.workers = 1, .batch = together, .seed = 5});
  for (std::int64_t step = 0; step < 50; ++step) {
    Indices seen;
    for (std::uint32_t w = 0; w < workers; ++w) append(seen, many.batch(w, step));
    REQUIRE(seen == one.batch(0, step));
  }
}

TEST_CASE("pieces of any sizes make up the same sequence", "[sampler]") {
  const Dataset data = classified(103, 5);
  const Partition partition = GENERATE(Partition::iid, Partition::dirichlet);
  Sampler sampler(data, {.partition = partition, .workers = 3, .batch = 7, .seed = 5});
  const Indices whole = sampler.samples(1, 40, 400);
  Indices pieces;
  for (std::int64_t size = 0; size < 29; ++size)  // 406 in all, over several epochs
    append(pieces, sampler.samples(1, 40 + static_cast<std::int64_t>(pieces.size()), size));
  pieces.resize(400);
  CHECK(pieces == whole);
  CHECK(sampler.samples(2, partition == Partition::iid ? (4 * 3 + 2) * 7 : 4 * 7, 7) == sampler.batch(2, 4));
}

TEST_CASE("every epoch is a new order of all samples of a stream", "[sampler]") {
  const Dataset data = classified(103, 5);
  const Partition partition =
      GENERATE(Partition::iid, Partition::contiguous, Partition::by_label, Partition::dirichlet);
  const std::uint32_t workers = partition == Partition::iid ? 1 : 4;
  Sampler sampler(data, {.partition = partition, .workers = workers, .batch = 9, .seed = 3});
  for (std::uint32_t w = 0; w < workers; ++w) {
    const Indices owned = partition == Partition::iid ? all(103) : sorted(sampler.shard(w));
    Indices sequence;
    for (std::int64_t step = 0; sequence.size() < 3 * owned.size(); ++step) {
      const Indices batch = sampler.batch(w, step);
      REQUIRE(batch.size() == 9);
      append(sequence, batch);
    }
    const auto begin = sequence.begin();
    const auto size = static_cast<std::ptrdiff_t>(owned.size());
    const Indices first(begin, begin + size), second(begin + size, begin + 2 * size);
    CHECK(sorted(first) == owned);
    CHECK(sorted(second) == owned);
    if (size > 5) CHECK(first != second);
  }
}

TEST_CASE("a batch depends on worker, step and seed, not on what was asked before", "[sampler]") {
  const Dataset data = classified(50, 5);
  const Partition partition = GENERATE(Partition::iid, Partition::contiguous);
  const Sampler::Options options{.partition = partition, .workers = 3, .batch = 8, .seed = 11};
  Sampler forward(data, options), backward(data, options);
  std::vector<Indices> batches;
  for (std::int64_t step = 0; step < 60; ++step)
    for (std::uint32_t w = 0; w < 3; ++w) batches.push_back(forward.batch(w, step));
  for (std::int64_t step = 59; step >= 0; --step)
    for (std::uint32_t w = 0; w < 3; ++w) {
      REQUIRE(backward.batch(w, step) == batches[static_cast<std::size_t>(step * 3 + w)]);
      REQUIRE(backward.batch(w, 59 - step) == batches[static_cast<std::size_t>((59 - step) * 3 + w)]);
    }
  Sampler::Options other = options;
  other.seed = 12;
  CHECK(Sampler(data, other).batch(0, 0) != batches.front());
}

TEST_CASE("shards hold each sample exactly once and none is empty", "[sampler]") {
  const Dataset data = classified(103, 5);
  const Partition partition = GENERATE(Partition::contiguous, Partition::by_label, Partition::dirichlet);
  const std::uint32_t workers = GENERATE(1U, 2U, 16U, 103U);
  // The small alpha gives nearly every class to a single worker; its gamma variables would all be zero.
  const double alpha = GENERATE(0.0001, 0.5, 1000.0);
  const Sampler::Options options{
      .partition = partition, .dirichlet_alpha = alpha, .workers = workers, .batch = 4, .seed = 2};
  const Sampler sampler(data, options);
  CHECK(sorted(all_shards(sampler, workers)) == all(103));
  for (std::uint32_t w = 0; w < workers; ++w) {
    CHECK(!sampler.shard(w).empty());
  }
  CHECK(all_shards(sampler, workers) == all_shards(Sampler(data, options), workers));
}

TEST_CASE("contiguous shards follow the file and by-label shards the classes", "[sampler]") {
  const Dataset data = classified(103, 5);
  const Sampler contiguous(data, {.partition = Partition::contiguous, .workers = 4});
  CHECK(all_shards(contiguous, 4) == all(103));
  const Sampler by_label(data, {.partition = Partition::by_label, .workers = 4});
  const Indices order = all_shards(by_label, 4);
  CHECK(std::is_sorted(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(data.labels[a], a) < std::pair(data.labels[b], b);
  }));
  for (std::uint32_t w = 0; w < 4; ++w) {
    CHECK(size_of(contiguous, w) == (w < 3 ? 26 : 25));
    CHECK(size_of(by_label, w) == (w < 3 ? 26 : 25));
  }
}

TEST_CASE("a large Dirichlet alpha deals every class evenly and a small one does not", "[sampler]") {
  const Dataset data = classified(4000, 4);
  const auto most_of_class_0 = [&](double alpha) {
    const Sampler sampler(
        data, {.partition = Partition::dirichlet, .dirichlet_alpha = alpha, .workers = 4, .seed = 9});
    std::int64_t most = 0;
    for (std::uint32_t w = 0; w < 4; ++w)
      most =
          std::max<std::int64_t>(most, std::count_if(sampler.shard(w).begin(), sampler.shard(w).end(),
                                                     [&](std::uint32_t i) { return data.labels[i] == 0; }));
    return most;
  };
  CHECK(most_of_class_0(1e6) < 260);
  CHECK(most_of_class_0(0.01) > 900);
}

TEST_CASE("iid workers have no shards of their own", "[sampler]") {
  const Sampler sampler(classified(103, 5), {.workers = 10});
  for (std::uint32_t w = 0; w < 10; ++w) CHECK(sampler.shard(w).empty());
}

TEST_CASE("more workers than samples can share epochs but not own shards", "[sampler]") {
  const Dataset data = classified(3, 3);
  Sampler iid(data, {.workers = 5, .batch = 4});
  CHECK(iid.batch(4, 10).size() == 4);
  CHECK_THROWS_AS(Sampler(data, {.partition = Partition::contiguous, .workers = 5}), DataError);
}

TEST_CASE("data without classes cannot be dealt by class", "[sampler]") {
  Dataset regression;
  regression.inputs = SampleMatrix::Zero(10, 1);
  regression.targets = SampleMatrix::Zero(10, 1);
  const Partition partition = GENERATE(Partition::by_label, Partition::dirichlet);
  CHECK_THROWS_AS(Sampler(regression, {.partition = partition, .workers = 2}), std::logic_error);
  CHECK_NOTHROW(Sampler(regression, {.partition = Partition::contiguous, .workers = 2}));
}

TEST_CASE("the shards of workers that are gone are shared out among the others", "[sampler]") {
  const Dataset data = classified(103, 5);
  Sampler sampler(data, {.partition = Partition::by_label, .workers = 4, .batch = 1});
  const std::vector<bool> members = {true, false, true, false};
  Indices seen;
  for (const std::uint32_t w : {0U, 2U}) {
    const std::int64_t share = size_of(sampler, w) + (size_of(sampler, 1) + size_of(sampler, 3)) / 2;
    append(seen, sampler.samples(w, 0, share, members));
  }
  std::ranges::sort(seen);
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
  CHECK(seen.size() >= 101);  // the pieces of an odd shard differ by one
  const std::int64_t own = size_of(sampler, 2);
  CHECK(sorted(sampler.samples(2, 0, own, {true, true, true, true})) == sorted(sampler.shard(2)));
  CHECK(sorted(sampler.samples(2, 0, own)) == sorted(sampler.shard(2)));
}

TEST_CASE("Dirichlet shares are drawn for each class by itself", "[sampler]") {
  const Dataset data = classified(1000, 2);
  const Sampler sampler(data, {.partition = Partition::dirichlet, .dirichlet_alpha = 1, .workers = 5});
  std::int64_t difference = 0;
  for (std::uint32_t w = 0; w < 5; ++w) {
    std::int64_t of_first = 0;
    for (const std::uint32_t sample : sampler.shard(w)) of_first += data.labels[sample] == 0 ? 1 : 0;
    difference += std::abs(2 * of_first - size_of(sampler, w));
  }
  CHECK(difference > 100);  // of 1000 samples
}
