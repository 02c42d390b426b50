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
    values_.push_back(value);
    rise(values_.size() - 1, value);
  }

  void pop() {
    const T last = values_.back();
    values_.pop_back();
    if (!values_.empty()) sink(last);
    if (values_.capacity() > 8 && values_.size() < values_.capacity() / 4) shrink();
  }

 private:
  static constexpr std::size_t arity = 4;

  // Fills the free first place. The greatest child moves up at every level; then `value` rises from the end.
  // It was the last value, so it stays near the end.
  void sink(const T& value) {
    std::size_t place = 0;
    for (std::size_t child = 1; child < values_.size(); child = arity * place + 1) {
      const std::size_t greatest = greatest_from(child);
      values_[place] = values_[greatest];
      place = greatest;
    }
    rise(place, value);
  }

  void rise(std::size_t place, const T& value) {
    for (; place > 0 && values_[(place - 1) / arity] < value; place = (place - 1) / arity)
      values_[place] = values_[(place - 1) / arity];
    values_[place] = value;
  }

  // The greatest of the children from `child` on. No result is predictable, so there are no branches.
  std::size_t greatest_from(std::size_t child) const {
    const T* values = &values_[child];
    if (values_.size() - child < arity)
      return child +
             static_cast<std::size_t>(std::max_element(values, values_.data() + values_.size()) - values);
    const std::size_t left = values[0] < values[1] ? 1 : 0, right = values[2] < values[3] ? 3 : 2;
    return child + (values[left] < values[right] ? right : left);
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
