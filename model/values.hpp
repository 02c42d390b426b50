// A fixed-size array of numbers in single or double precision: weights, gradients, optimizer state.
// Half precision is one of messages and of weights at rest: such numbers are kept in single precision,
// rounded to what half precision can represent (rounding.hpp), and computed with in single precision. Its
// start is aligned for every vector unit, so that results never depend on where it lies in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace psim {

enum class Precision : std::uint8_t { float32, float64, float16, bfloat16 };

constexpr bool is_half(Precision precision) {
  return precision == Precision::float16 || precision == Precision::bfloat16;
}
// On the network.
constexpr std::size_t bytes_per_value(Precision precision) {
  return is_half(precision) ? 2 : precision == Precision::float32 ? 4 : 8;
}
// In memory.
constexpr Precision arithmetic_of(Precision precision) {
  return is_half(precision) ? Precision::float32 : precision;
}

// Calls `f` with a value of the C++ type that `precision` names.
template <class F>
decltype(auto) with_scalar(Precision precision, F&& f) {
  return precision == Precision::float64 ? f(double{}) : f(float{});
}

struct FreeArray {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

class Values {
 public:
  Values() = default;
  Values(Precision precision, std::size_t size);  // not initialised
  explicit Values(const Values& other);
  Values(Values&&) = default;
  Values& operator=(Values&&) = default;
  static Values zeros(Precision precision, std::size_t size);
  static Values copy_of(const Values& values, std::size_t begin, std::size_t count);

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * bytes_per_value(precision_); }
  Precision precision() const { return precision_; }  // never a half one
  const std::byte* raw() const { return memory_.get(); }

  template <class Scalar>
  std::span<Scalar> as() {
    static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>);
    return {reinterpret_cast<Scalar*>(memory_.get()), size_};
  }
  template <class Scalar>
  std::span<const Scalar> as() const {
    return {reinterpret_cast<const Scalar*>(memory_.get()), size_};
  }

  void copy_from(const Values& other, std::size_t other_begin, std::size_t count, std::size_t begin);

 private:
  std::unique_ptr<std::byte[], FreeArray> memory_;
  std::size_t size_ = 0;
  Precision precision_ = Precision::float32;
};

// The values at these places.
Values gather(const Values& values, std::span<const std::uint32_t> places);

// Makes `values` safe to change in place: a copy, if anybody else still reads them.
void make_own(std::shared_ptr<Values>& values);

// A read-only part of a shared array: what a message carries. A phantom slice has a count and no array.
struct Slice {
  std::shared_ptr<const Values> values;
  std::size_t begin = 0;
  std::size_t count = 0;
  std::int64_t version = 0;  // tells states of an array apart that is changed in place

  template <class Scalar>
  std::span<const Scalar> as() const {
    return values->as<Scalar>().subspan(begin, count);
  }
};

// One contiguous part of an array, or of the key space.
struct Range {
  std::size_t begin = 0;
  std::size_t count = 0;
  bool operator==(const Range&) const = default;
};
// The same values of a slice.
inline Slice part_of(const Slice& slice, Range range) {
  return {slice.values, slice.begin + range.begin, range.count, slice.version};
}

// Part `index` of [0, total) cut in `parts` equal ranges (sizes differ by at most one), as ps-lite does.
constexpr Range even_range(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t begin = total * index / parts;
  return {begin, total * (index + 1) / parts - begin};
}

// Several slices that together are a whole array, put in one piece when first asked for, and then let go.
// Shared by all workers that pulled the same version; safe to ask from several threads.
class Assembly {
 public:
  // Part i goes, in pieces one after the other, to the ranges places[i]; without `places` the parts stand in
  // their order. `places` must outlive the assembly.
  using Places = std::vector<std::vector<Range>>;
  explicit Assembly(std::vector<Slice> parts, const Places* places = nullptr);
  ~Assembly();
  bool same_parts(const std::vector<Slice>& parts) const;
  // One more user; false when the only one so far has taken the array.
  bool join();
  const Values& get();
  // The array itself, for a user who is alone with it and will change it.
  std::optional<Values> take();

 private:
  bool is_one_array() const;
  void put_together();

  struct Once;
  // Outlives its part, so that another array at the same address is not taken for it.
  struct Key {
    std::weak_ptr<const Values> values;
    std::size_t begin, count;
    std::int64_t version;
  };
  std::atomic<int> users_ = 1;  // 0: taken
  std::vector<Key> keys_;
  std::vector<Slice> parts_;
  const Places* places_;
  std::unique_ptr<Once> once_;
  Values whole_;
};

}  // namespace psim
