// A priority queue; its first element is the greatest by <. It releases memory as it empties: each of
// thousands of stations has a long queue at some date, but few have one at the same date.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace psim {

// Each node has four children: half as many levels as with two, and the children are neighbours in memory.
template <class T>
class Heap {
 public:
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  std::size_t capacity() const { return values_.capacity(); }
  const T& top() const { return values_.front(); }

  void push(const T& value) {
    if (values_.size() == values_.capacity()) values_.reserve(values_.size() + values_.size() / 4 + 4);
    std::size_t place = values_.size();
    values_.push_back(value);
    for (; place > 0 && values_[(place - 1) / arity] < value; place = (place - 1) / arity)
      values_[place] = values_[(place - 1) / arity];
    values_[place] = value;
  }

  void pop() {
    const T last = values_.back();
    values_.pop_back();
    if (!values_.empty()) sink(last);
    if (values_.capacity() > 8 && values_.size() < values_.capacity() / 4) shrink();
  }

 private:
  static constexpr std::size_t arity = 4;

  // Moves `value` from the free first place down to its place.
  void sink(const T& value) {
    std::size_t place = 0;
    for (std::size_t child = 1; child < values_.size(); child = arity * place + 1) {
      const auto first = values_.begin() + static_cast<std::ptrdiff_t>(child);
      const auto end = first + static_cast<std::ptrdiff_t>(std::min(arity, values_.size() - child));
      const auto greatest = std::max_element(first, end);
      if (!(value < *greatest)) break;
      values_[place] = *greatest;
      place = static_cast<std::size_t>(greatest - values_.begin());
    }
    values_[place] = value;
  }

  // Halves the memory; the next pushes need no allocation.
  void shrink() {
    std::vector<T> fewer;
    fewer.reserve(2 * values_.size());
    fewer.assign(values_.begin(), values_.end());
    values_ = std::move(fewer);
  }

  std::vector<T> values_;
};

}  // namespace psim
