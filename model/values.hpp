// A fixed-size array of numbers in single or double precision: weights, gradients, optimizer state. Half
// precision exists only for messages and for stored weights: such numbers are kept in single precision,
// rounded to numbers of half precision (parameters.hpp), and computed with in single precision. The array's
// start is aligned for every vector unit, so results never depend on its place in memory.
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

// The values at the positions `places`.
Values gather(const Values& values, std::span<const std::uint32_t> places);

// Makes `values` safe to change in place: copies them if another reader still uses them.
void make_own(std::shared_ptr<Values>& values);

// A read-only part of a shared array, as messages carry it. A phantom slice has a count but no array.
struct Slice {
  std::shared_ptr<const Values> values;
  std::size_t begin = 0;
  std::size_t count = 0;
  std::int64_t version = 0;  // distinguishes the states of an array that changes in place

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

// A matrix among other values, stored row by row; a vector has one column.
struct ArrayShape {
  std::size_t begin, rows, columns;
};
// The values `range` of a slice.
inline Slice part_of(const Slice& slice, Range range) {
  return {slice.values, slice.begin + range.begin, range.count, slice.version};
}

// Part `index` of [0, total) cut in `parts` equal ranges (sizes differ by at most one), as ps-lite does.
constexpr Range even_range(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t begin = total * index / parts;
  return {begin, total * (index + 1) / parts - begin};
}

// Several slices that together form a whole array. They are joined at the first request and then released.
// All workers that pulled the same version share the object; several threads may use it.
class Assembly {
 public:
  // Part i goes, in consecutive pieces, to the ranges places[i]; without `places` the parts keep their order.
  // `places` must outlive the assembly.
  using Places = std::vector<std::vector<Range>>;
  explicit Assembly(std::vector<Slice> parts, const Places* places = nullptr);
  ~Assembly();
  bool same_parts(const std::vector<Slice>& parts) const;
  // Adds a user; false if the only user so far has taken the array.
  bool join();
  const Values& get();
  // The array itself, for an only user that will change it.
  std::optional<Values> take();

 private:
  bool is_one_array() const;
  void put_together();

  struct Once;
  // The key outlives its part, so another array at the same address is not mistaken for it.
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
