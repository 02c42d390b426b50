// How values are written down in fewer bits. Each filter writes real bytes and reads them back; scales and
// means travel in single precision.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "model/mutant.hpp"
#include "model/rounding.hpp"
#include "sim/protocol/filter_parts.hpp"

namespace psim {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T>
T read_at(const Bytes& in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

// Codes of a few bits each, least significant bit first.
class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}
  void put(std::uint32_t code, unsigned bits) {
    pending_ |= std::uint64_t{code} << filled_;
    for (filled_ += bits; filled_ >= 8; filled_ -= 8) next_byte();
  }
  void finish() {
    if (filled_ > 0) next_byte();
    filled_ = 0;
  }

 private:
  void next_byte() {
    out_.push_back(static_cast<std::byte>(pending_ & 0xffU));
    pending_ >>= 8U;
  }
  Bytes& out_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  BitReader(const Bytes& in, std::size_t begin) : in_(in), at_(begin) {}
  std::uint32_t get(unsigned bits) {
    for (; filled_ < bits; filled_ += 8) pending_ |= std::to_integer<std::uint64_t>(in_[at_++]) << filled_;
    const auto code = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << bits) - 1));
    pending_ >>= bits;
    filled_ -= bits;
    return code;
  }

 private:
  const Bytes& in_;
  std::size_t at_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

template <class Scalar>
void fp16(std::span<Scalar> values, Bytes& coded) {
  for (const Scalar x : values) append(coded, half_bits(Precision::float16, static_cast<float>(x)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = read_at<std::uint16_t>(coded, 2 * i);
    values[i] = static_cast<Scalar>(from_half_bits(Precision::float16, bits));
  }
}

// The largest magnitude, rounded up to single precision; not-a-number when a value is not finite.
template <class Scalar>
float scale_of(std::span<const Scalar> values) {
  Scalar largest = 0;
  for (const Scalar x : values) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(x));
  }
  const auto scale = static_cast<float>(largest);
  if (static_cast<Scalar>(scale) >= largest) return scale;
  return std::nextafter(scale, std::numeric_limits<float>::infinity());
}

// Integers from -levels to levels. y becomes floor(y + U(0, 1)), whose mean is y (Gupta et al. 2015).
template <class Scalar>
void fixed_point(std::span<Scalar> values, unsigned bits, Stream stream, Bytes& coded) {
  const std::int64_t levels = (std::int64_t{1} << (bits - 1)) - 1;
  const auto most = static_cast<double>(levels);
  const double scale = scale_of(std::span<const Scalar>(values));
  append(coded, static_cast<float>(scale));
  BitWriter writer(coded);
  for (const Scalar x : values) {
    const double y = scale > 0 ? static_cast<double>(x) / scale * most : 0;
    const double rounded =
        std::clamp(std::floor(y + (mutant("rounds-down") ? 0 : stream.uniform())), -most, most);
    writer.put(static_cast<std::uint32_t>(static_cast<std::int64_t>(rounded) + levels), bits);
  }
  writer.finish();

  const double received = read_at<float>(coded, 0);
  BitReader reader(coded, sizeof(float));
  for (Scalar& x : values) {
    const auto level = static_cast<double>(std::int64_t{reader.get(bits)} - levels);
    x = static_cast<Scalar>(level * received / most);
  }
}

template <class Scalar>
void one_bit(std::span<Scalar> values, Bytes& coded) {
  double sums[2] = {0, 0};
  std::size_t counts[2] = {0, 0};
  for (const Scalar x : values) {
    const bool negative = x < 0;
    sums[negative && !mutant("one-mean-for-both-signs")] += static_cast<double>(x);
    ++counts[negative];
  }
  for (const int sign : {0, 1})
    append(coded,
           counts[sign] > 0 ? static_cast<float>(sums[sign] / static_cast<double>(counts[sign])) : 0.0F);
  BitWriter writer(coded);
  for (const Scalar x : values) writer.put(x < 0 ? 1 : 0, 1);
  writer.finish();

  const float means[2] = {read_at<float>(coded, 0), read_at<float>(coded, sizeof(float))};
  BitReader reader(coded, 2 * sizeof(float));
  for (Scalar& x : values) x = means[reader.get(1)];
}

// Codes as MXNet's: 3 is +threshold, 2 is -threshold.
template <class Scalar>
void two_bit(std::span<Scalar> values, Scalar threshold, Bytes& coded) {
  constexpr std::uint32_t zero = 0, minus = 2, plus = 3;
  BitWriter writer(coded);
  for (const Scalar x : values) writer.put(x >= threshold ? plus : x <= -threshold ? minus : zero, 2);
  writer.finish();
  coded.resize((coded.size() + 3) / 4 * 4);

  BitReader reader(coded, 0);
  for (Scalar& x : values) {
    const std::uint32_t code = reader.get(2);
    x = code == plus ? threshold : code == minus ? -threshold : Scalar{0};
  }
}

}  // namespace

template <class Scalar>
void quantize(const FilterSpec& filter, std::span<Scalar> values, Stream stream,
              std::vector<std::byte>& coded) {
  coded.clear();
  coded.reserve(coded_bytes(filter, values.size()));
  const auto threshold = static_cast<Scalar>(filter.level());
  switch (filter.kind) {
    case FilterKind::fp16: return fp16(values, coded);
    case FilterKind::fixed_point:
      return fixed_point(values, static_cast<unsigned>(filter.bits), stream, coded);
    case FilterKind::one_bit: return one_bit(values, coded);
    case FilterKind::two_bit: return two_bit(values, threshold, coded);
    case FilterKind::threshold:  // the sign travels with the position
      for (Scalar& x : values) x = std::copysign(threshold, x);
      return;
    default: throw std::logic_error("a filter that does not quantize");
  }
}

template void quantize(const FilterSpec&, std::span<float>, Stream, std::vector<std::byte>&);
template void quantize(const FilterSpec&, std::span<double>, Stream, std::vector<std::byte>&);

std::size_t coded_bytes(const FilterSpec& filter, std::size_t count) {
  const auto whole = [](std::size_t bits, std::size_t unit) { return (bits + unit - 1) / unit; };
  switch (filter.kind) {
    case FilterKind::fp16: return 2 * count;
    case FilterKind::fixed_point:
      return (mutant("scale-costs-nothing") ? 0 : 4) +
             whole(static_cast<std::size_t>(filter.bits) * count, 8);
    case FilterKind::one_bit: return 8 + whole(count, 8);
    case FilterKind::two_bit: return 4 * whole(count, 16);
    case FilterKind::threshold: return 0;
    default: throw std::logic_error("a filter that does not quantize");
  }
}

}  // namespace psim
