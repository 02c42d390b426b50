#include "model/values.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace psim {
namespace {

constexpr std::align_val_t alignment{64};
constexpr std::size_t kept = 4096;  // bytes from which freed arrays are kept
// Bytes from which each array has pages of its own. Shards of many sizes would leave gaps in a heap: a run
// with two servers took 2.5 times the memory.
constexpr std::size_t mapped = std::size_t{1} << 20U;

std::byte* make(std::size_t bytes) {
  if (bytes < mapped)
    return static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), alignment));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void remove(std::byte* memory, std::size_t bytes) {
  if (bytes < mapped) ::operator delete[](memory, alignment);
  else munmap(memory, bytes);
}

// Every step allocates and frees arrays of the same sizes. Freed arrays are kept for the next array of their
// size. The memory never exceeds the largest amount that was in use: idle arrays of other sizes are released
// first.
class KeptArrays {
 public:
  std::byte* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
    if (const auto same = idle_.find(bytes); same != idle_.end()) return taken(same);
    while (!idle_.empty() && in_use_ + idle_bytes_ > most_in_use_) {
      const auto largest = std::prev(idle_.end());
      const std::size_t size = largest->first;
      remove(taken(largest), size);
    }
    return make(bytes);
  }

  void give(std::byte* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    idle_[bytes].push_back(memory);
    idle_bytes_ += bytes;
  }

 private:
  using Idle = std::map<std::size_t, std::vector<std::byte*>>;  // by size
  std::byte* taken(Idle::iterator same) {
    std::byte* memory = same->second.back();
    idle_bytes_ -= same->first;
    same->second.pop_back();
    if (same->second.empty()) idle_.erase(same);
    return memory;
  }
  std::mutex mutex_;
  Idle idle_;
  std::size_t idle_bytes_ = 0, in_use_ = 0, most_in_use_ = 0;
};

// An allocator, like the one behind `new`: it outlives every array.
KeptArrays& kept_arrays() {
  static KeptArrays all;
  return all;
}

std::byte* allocate(std::size_t bytes) { return bytes < kept ? make(bytes) : kept_arrays().take(bytes); }

}  // namespace

Values::Values(Precision precision, std::size_t size) : size_(size), precision_(arithmetic_of(precision)) {
  memory_ = {allocate(bytes()), FreeArray{bytes()}};
}

Values Values::zeros(Precision precision, std::size_t size) {
  Values values(precision, size);
  std::memset(values.memory_.get(), 0, values.bytes());
  return values;
}

Values::Values(const Values& other) : Values(other.precision(), other.size()) {
  if (size_ > 0) copy_from(other, 0, size_, 0);
}

Values Values::copy_of(const Values& values, std::size_t begin, std::size_t count) {
  Values copy(values.precision(), count);
  copy.copy_from(values, begin, count, 0);
  return copy;
}

// Unshared values have no other reader any more; the fence makes all earlier reads happen before the change.
void make_own(std::shared_ptr<Values>& values) {
  if (values.use_count() > 1) {
    values = std::make_shared<Values>(*values);
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
}

void Values::copy_from(const Values& other, std::size_t other_begin, std::size_t count, std::size_t begin) {
  const std::size_t width = bytes_per_value(precision_);
  std::memcpy(memory_.get() + begin * width, other.raw() + other_begin * width, count * width);
}

void FreeArray::operator()(std::byte* memory) const {
  if (bytes < kept) remove(memory, bytes);
  else kept_arrays().give(memory, bytes);
}

Values gather(const Values& values, std::span<const std::uint32_t> places) {
  Values result(values.precision(), places.size());
  with_scalar(values.precision(), [&](auto zero) {
    const auto from = values.as<decltype(zero)>();
    const auto to = result.template as<decltype(zero)>();
    for (std::size_t i = 0; i < places.size(); ++i) to[i] = from[places[i]];
  });
  return result;
}

struct Assembly::Once {
  std::once_flag flag;
};

Assembly::Assembly(std::vector<Slice> parts, const Places* places)
    : parts_(std::move(parts)), places_(places), once_(std::make_unique<Once>()) {
  for (const Slice& part : parts_) keys_.push_back({part.values, part.begin, part.count, part.version});
}

Assembly::~Assembly() = default;

bool Assembly::same_parts(const std::vector<Slice>& parts) const {
  return std::ranges::equal(keys_, parts, [](const Key& a, const Slice& b) {
    const bool same_array = !a.values.owner_before(b.values) && !b.values.owner_before(a.values);
    return same_array && a.begin == b.begin && a.count == b.count && a.version == b.version;
  });
}

bool Assembly::join() {
  int users = users_;
  while (users > 0) {
    if (users_.compare_exchange_weak(users, users + 1)) return true;
  }
  return false;
}

std::optional<Values> Assembly::take() {
  int alone = 1;
  if (is_one_array() || !users_.compare_exchange_strong(alone, 0)) return std::nullopt;
  get();
  return std::move(whole_);
}

bool Assembly::is_one_array() const {
  const Key& first = keys_.front();
  return keys_.size() == 1 && first.begin == 0 && first.count == parts_.front().values->size();
}

const Values& Assembly::get() {
  if (is_one_array()) return *parts_.front().values;
  std::call_once(once_->flag, [this] { put_together(); });
  return whole_;
}

void Assembly::put_together() {
  // One array at a time: until it is complete, the parts and the whole are both in memory.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::size_t total = 0;
  for (const Slice& part : parts_) total += part.count;
  whole_ = Values(parts_.front().values->precision(), total);
  std::size_t end = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Slice& part = parts_[i];
    const std::vector<Range> in_order{{end, part.count}};
    std::size_t taken = part.begin;
    for (const Range& place : places_ != nullptr ? (*places_)[i] : in_order) {
      whole_.copy_from(*part.values, taken, place.count, place.begin);
      taken += place.count;
    }
    end += part.count;
    part.values.reset();
  }
}

}  // namespace psim
