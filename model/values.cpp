#include "model/values.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace psim {
namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

Values::Values(Precision precision, std::size_t size)
    : memory_(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(size, 1) * bytes_per_value(precision),
                                                       alignment))),
      size_(size),
      precision_(precision) {}

Values Values::zeros(Precision precision, std::size_t size) {
  Values values(precision, size);
  std::memset(values.memory_.get(), 0, values.bytes());
  return values;
}

void Values::copy_from(const Values& other, std::size_t other_begin, std::size_t count, std::size_t begin) {
  const std::size_t width = bytes_per_value(precision_);
  std::memcpy(memory_.get() + begin * width, other.raw() + other_begin * width, count * width);
}

void Values::Free::operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }

struct Assembly::Once {
  std::once_flag flag;
};

Assembly::Assembly(std::vector<Slice> parts) : parts_(std::move(parts)), once_(std::make_unique<Once>()) {}

Assembly::~Assembly() = default;

bool Assembly::same_parts(const std::vector<Slice>& parts) const {
  return std::ranges::equal(parts_, parts, [](const Slice& a, const Slice& b) {
    return a.values == b.values && a.begin == b.begin && a.count == b.count;
  });
}

const Values& Assembly::get() {
  const Slice& first = parts_.front();
  if (parts_.size() == 1 && first.begin == 0 && first.count == first.values->size()) return *first.values;
  std::call_once(once_->flag, [&] {
    std::size_t total = 0;
    for (const Slice& part : parts_) total += part.count;
    whole_ = Values(first.values->precision(), total);
    std::size_t begin = 0;
    for (const Slice& part : parts_) {
      whole_.copy_from(*part.values, part.begin, part.count, begin);
      begin += part.count;
    }
  });
  return whole_;
}

}  // namespace psim
