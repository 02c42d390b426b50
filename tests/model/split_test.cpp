// Goal: the validation set is a share of the training samples, each class alike, and leaves the test set as
// it is. Method: samples that carry their number as their only feature.
#include "model/data/split.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "model/data_spec.hpp"
#include "model/dataset.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using Catch::Matchers::Contains;

namespace {

// Samples 0, 1, 2..., the i-th of class labels[i]; without classes where there are none.
DataSplit numbered(const std::vector<std::int32_t>& labels, int classes) {
  DataSplit split;
  const auto size = static_cast<Eigen::Index>(labels.size());
  split.train.inputs.resize(size, 1);
  for (Eigen::Index i = 0; i < size; ++i) split.train.inputs(i, 0) = static_cast<float>(i);
  split.train.classes = classes;
  if (classes > 0) split.train.labels = labels;
  else split.train.targets = split.train.inputs;
  split.test.inputs = SampleMatrix::Ones(3, 1);
  return split;
}

std::vector<int> numbers(const Dataset& set) {
  std::vector<int> all;
  for (Eigen::Index i = 0; i < set.size(); ++i) all.push_back(static_cast<int>(set.inputs(i, 0)));
  return all;
}

std::vector<std::int64_t> sizes_of(const std::vector<std::int32_t>& labels, int classes) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(classes));
  for (const std::int32_t label : labels) ++sizes[static_cast<std::size_t>(label)];
  return sizes;
}

std::vector<std::int32_t> balanced(int samples, int classes) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < samples; ++i) labels.push_back(i % classes);
  return labels;
}

// The message and the hint of a refusal.
std::string refusal(const std::vector<std::int32_t>& labels, int classes, double fraction) {
  try {
    hold_out(numbered(labels, classes), fraction, 1);
  } catch (const DataError& error) {
    CHECK((error.field == "validation_fraction" || !(fraction >= 0 && fraction < 1)));
    return error.what() + std::string("; ") + error.help;
  }
  return "accepted";
}

DataSpec spec_of(DataSource source) {
  DataSpec spec;
  spec.source = source;
  spec.samples = 300;
  spec.features = 40;
  spec.nonzeros = 3;
  for (int i = 0; i < 20; ++i) {
    spec.inputs.push_back({static_cast<double>(i)});
    spec.targets.push_back({static_cast<double>(2 * i)});
  }
  return spec;
}

bool same(const Dataset& a, const Dataset& b) {
  return a.inputs == b.inputs && a.labels == b.labels && a.targets == b.targets && a.classes == b.classes &&
         a.sparse_inputs.index == b.sparse_inputs.index && a.sparse_inputs.begin == b.sparse_inputs.begin &&
         a.sparse_inputs.value == b.sparse_inputs.value;
}

}  // namespace

TEST_CASE("validation samples are a share of the training samples, and no longer learned", "[data]") {
  CHECK(rc::check("disjoint, all there, in order, stratified", [] {
    const int classes = *rc::gen::inRange(0, 6);
    const auto labels =
        *rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, std::max(classes, 1)));
    const double fraction = *rc::gen::inRange(1, 100) / 100.0;
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const DataSplit given = numbered(labels, classes);
    DataSplit split;
    try {
      split = hold_out(given, fraction, seed);
    } catch (const DataError&) {
      RC_DISCARD("too small");
    }
    const auto n = static_cast<double>(labels.size());
    RC_ASSERT(split.validation.size() == std::lround(fraction * n));
    const std::vector<int> train = numbers(split.train), validation = numbers(split.validation);
    RC_ASSERT(std::ranges::is_sorted(train));
    RC_ASSERT(std::ranges::is_sorted(validation));
    std::vector<int> all;
    std::ranges::merge(train, validation, std::back_inserter(all));
    RC_ASSERT(all == numbers(given.train));
    RC_ASSERT(same(split.test, given.test));
    for (const Dataset* part : {&split.train, &split.validation}) {
      RC_ASSERT(part->classes == classes);
      for (std::size_t i = 0; classes > 0 && i < part->labels.size(); ++i)
        RC_ASSERT(part->labels[i] == labels[static_cast<std::size_t>(numbers(*part)[i])]);
    }
    if (classes > 0) {
      const auto whole = sizes_of(labels, classes), held_out = sizes_of(split.validation.labels, classes);
      for (std::size_t c = 0; c < whole.size(); ++c)
        RC_ASSERT(std::abs(static_cast<double>(held_out[c]) - fraction * static_cast<double>(whole[c])) < 1);
    }
    const DataSplit again = hold_out(given, fraction, seed);
    RC_ASSERT(same(again.train, split.train));
    RC_ASSERT(same(again.validation, split.validation));
  }));
}

TEST_CASE("every class gives its share of validation samples", "[data]") {
  std::vector<std::int32_t> labels(80, 0);  // by chance the 20 of class 1 would give another number at times
  labels.insert(labels.end(), 20, 1);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const DataSplit split = hold_out(numbered(labels, 2), 0.25, seed);
    CHECK(sizes_of(split.validation.labels, 2) == std::vector<std::int64_t>{20, 5});
  }
}

TEST_CASE("each sample is held out as often as any other", "[data]") {
  constexpr int samples = 12, seeds = 4000;
  std::vector<int> times(samples);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (const int i : numbers(hold_out(numbered(balanced(samples, 2), 2), 0.5, seed).validation)) ++times[i];
  }
  for (const int count : times)  // four standard deviations of a binomial distribution
    CHECK(std::abs(count - seeds / 2) < 4 * std::sqrt(seeds / 4.0));
}

TEST_CASE("every source of data can hold out samples, and keeps its test set", "[data]") {
  const DataSource source = GENERATE(DataSource("digits"), DataSource("blobs"), DataSource("spirals"),
                                     DataSource("teacher"), DataSource("clicks"), DataSource("inline"));
  DataSpec spec = spec_of(source);
  const DataSplit whole = load_data(spec, 7, {});
  CHECK(whole.validation.size() == 0);
  spec.validation_fraction = 0.25;
  const DataSplit split = load_data(spec, 7, {});
  CAPTURE(source->name);
  CHECK(same(split.test, whole.test));
  CHECK(split.validation.size() == std::lround(0.25 * static_cast<double>(whole.train.size())));
  CHECK(split.train.size() + split.validation.size() == whole.train.size());
  CHECK(split.validation.features() == whole.train.features());
  CHECK(split.validation.outputs() == whole.train.outputs());
  CHECK(split.validation.is_sparse() == whole.train.is_sparse());
  const DataSplit other = load_data(spec, 8, {});
  CHECK_FALSE(same(other.validation, split.validation));
  if (const auto known = known_shape(spec)) CHECK(known->samples == split.train.size());
}

TEST_CASE("a split that leaves a part or a class empty is refused with a hint", "[data]") {
  CHECK(refusal(balanced(100, 2), 2, 0.004) ==
        "a validation fraction of 0.004 of 100 training samples gives no sample; give at least 0.01, or 0 "
        "for no validation set");
  CHECK(refusal(balanced(10, 2), 2, 0.96) ==
        "a validation fraction of 0.96 of 10 training samples leaves none to train on; give a smaller "
        "fraction, or more samples");
  CHECK(refusal(balanced(100, 2), 0, 0.004) != "accepted");
  std::vector<std::int32_t> rare(50, 0);
  rare.push_back(1);
  CHECK(refusal(rare, 2, 0.2) ==
        "a validation fraction of 0.2 of 51 training samples takes no sample of class 1, which has only 1; "
        "give another fraction, or more samples of each class");
  CHECK_THAT(refusal(rare, 2, 0.9), Contains("leaves no sample of class 1, which has only 1"));
  CHECK(refusal(rare, 3, 0.2) == refusal(rare, 2, 0.2));  // what no class has is missed nowhere
  CHECK_THAT(refusal(rare, 2, 1.0), Contains("not in [0, 1)"));
  CHECK_THAT(refusal(rare, 2, std::nan("")), Contains("not in [0, 1)"));
}
