#include "sim/protocol/filter.hpp"

#include <snappy.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "model/parameters.hpp"

namespace psim {
namespace {}  // namespace

std::vector<FilterSpec> filters_on(std::span<const FilterSpec> filters, bool push) {
  std::vector<FilterSpec> chosen;
  std::ranges::copy_if(filters, std::back_inserter(chosen),
                       [push](const FilterSpec& filter) { return filter.works_on(push); });
  return chosen;
}

// One message on its way through the chain. Its remaining values are the first numbers of `numbers_`; the
// values of a phantom are only counted.
template <class Scalar>
class FilterChain::Pass {
 public:
  Pass(FilterChain& chain, const Slice& given, const SharedKeys& keys, const Slice& weights, double l1)
      : chain_(chain),
        options_(chain.options_),
        buffers_(*options_.buffers),
        given_(given),
        keys_(keys),
        weights_(weights),
        l1_(l1),
        left_(given.count),
        full_(given.count == options_.count),
        lossy_(options_.filters.front().stage() <= FilterStage::quantize),
        remembers_(!options_.push && options_.filters.front().stage() == FilterStage::select),
        differs_(options_.push && std::ranges::any_of(options_.filters, &FilterSpec::sends_differences)) {}

  Encoded run() {
    if (lossy_ && !phantom()) take_numbers();
    if (remembers_ && chain_.is_known_.empty()) chain_.is_known_.resize(options_.count);
    for (std::size_t i = 0; i < options_.filters.size(); ++i) {
      const FilterSpec& filter = options_.filters[i];
      flops_ += filter.flops_per_value * static_cast<double>(left_);
      switch (filter.stage()) {
        case FilterStage::select: select(filter, stream(i)); break;
        case FilterStage::quantize: write_down(filter, stream(i)); break;
        case FilterStage::keys: key_cache_ = &filter; break;
        case FilterStage::bytes: compressor_ = &filter; break;
      }
    }
    if (lossy_ && !phantom() && !quantizer_) round_to(options_.precision, numbers(), options_.scale);
    const auto [bytes, list] = count_bytes();
    Encoded result = receive();
    result.bytes = bytes;
    result.flops = flops_;
    result.list = list;
    return result;
  }

 private:
  bool phantom() const { return given_.values == nullptr; }
  bool selected() const { return left_ < given_.count; }
  bool listed() const { return (!full_ && !options_.key_bytes.are_in_ranges) || selected() || signed_; }
  // Whether what the filter removes is part of the next message.
  bool feeds_back(const FilterSpec& filter) const {
    return options_.push && !differs_ && filter.feeds_back();
  }
  std::size_t entry(std::size_t j) const { return selected() ? buffers_.entries[j] : j; }
  std::size_t position_of(std::size_t entry) const { return keys_ ? (*keys_)[entry] : entry; }
  std::size_t position(std::size_t j) const { return position_of(entry(j)); }
  std::span<Scalar> numbers() { return numbers_.template as<Scalar>().first(phantom() ? 0 : left_); }
  std::span<Scalar> residual() { return chain_.residual_->template as<Scalar>(); }
  std::span<Scalar> known() { return chain_.known_->template as<Scalar>(); }

  Stream stream(std::size_t filter) const {
    const std::uint64_t who = std::uint64_t{options_.sender} << 32U | options_.receiver;
    return {combine(options_.seed, options_.first_key), options_.push ? "push filter" : "pull filter",
            combine(who, filter), chain_.messages_};
  }

  // Copies the message, and adds what earlier messages lost.
  void take_numbers() {
    numbers_ = Values(options_.precision, left_);
    numbers_.copy_from(*given_.values, given_.begin, left_, 0);
    if (remembers_ && !chain_.known_) chain_.known_ = Values::zeros(options_.precision, options_.count);
    const bool adds = std::ranges::any_of(options_.filters, [this](const auto& f) { return feeds_back(f); });
    if (!adds && !differs_) return;
    if (!chain_.residual_) chain_.residual_ = Values::zeros(options_.precision, options_.count);
    for (std::size_t i = 0; differs_ && i < left_; ++i) numbers()[i] -= residual()[position_of(i)];
    for (std::size_t i = 0; adds && i < left_; ++i) {
      const Scalar lost = std::exchange(residual()[position_of(i)], Scalar{0});
      numbers()[i] += lost;
    }
  }

  void choose(const FilterSpec& filter, Stream stream);
  void select(const FilterSpec& filter, Stream stream);
  void drop_the_rest(bool feed_back);
  void write_down(const FilterSpec& filter, Stream stream);
  struct Size {
    std::uint64_t bytes;
    KeyList list;
  };
  Size count_bytes();
  std::uint64_t size_with(std::size_t signature, std::size_t key_width);
  void write_keys(std::size_t width, std::vector<std::byte>& out);
  bool receiver_has_keys(std::size_t width);
  void append_values(std::vector<std::byte>& payload);
  std::size_t compressed_size(std::size_t signature, std::size_t key_width);
  Encoded receive();
  void remember();
  void spread();
  void add_up();

  FilterChain& chain_;
  const Options& options_;
  FilterBuffers& buffers_;
  const Slice& given_;
  const SharedKeys& keys_;
  const Slice& weights_;
  const double l1_;
  std::size_t left_;      // values that remain
  const bool full_;       // the message began with the whole range
  const bool lossy_;      // the receiver sees other numbers than the sender
  const bool remembers_;  // a pull that sends only some values
  const bool differs_;    // a push of differences
  Values numbers_;
  const FilterSpec* quantizer_ = nullptr;
  bool signed_ = false;   // keys carry the values' signs
  bool guessed_ = false;  // only the number of the remaining values is known: the largest of a phantom
  const FilterSpec* key_cache_ = nullptr;
  const FilterSpec* compressor_ = nullptr;
  double flops_ = 0;
};

// Keeps only the values that the filter selects.
template <class Scalar>
void FilterChain::Pass<Scalar>::choose(const FilterSpec& filter, Stream stream) {
  Selection<Scalar> selection{
      .settings = filter.settings,
      .count = left_,
      .values = numbers(),
      .entries = selected() ? buffers_.entries.data() : nullptr,
      .keys = keys_.get(),
      .weights = weights_.values ? weights_.as<Scalar>() : std::span<const Scalar>(),
      .l1 = l1_,
      .known = remembers_ && chain_.known_ ? std::span<const Scalar>(known()) : std::span<const Scalar>(),
      .is_known = remembers_ ? &chain_.is_known_ : nullptr,
      .stream = stream,
      .buffers = buffers_};
  filter.kind->select(selection);
  guessed_ = guessed_ || (phantom() && filter.kind->guesses_phantoms);
  drop_the_rest(feeds_back(filter));
}

template <class Scalar>
void FilterChain::Pass<Scalar>::select(const FilterSpec& filter, Stream stream) {
  const std::size_t before = left_;
  choose(filter, stream);
  if (left_ < before) buffers_.used.emplace(filter.kind, options_.push);
  // Values that are sent by chance also stand for the omitted values, unless these are sent later.
  if (!filter.kind->makes_up || !options_.push || differs_ || feeds_back(filter) || left_ == 0) return;
  const double factor = filter.kind->makes_up(filter.settings, before, left_);
  for (Scalar& x : numbers()) x = static_cast<Scalar>(static_cast<double>(x) * factor);
}

// Keeps only the values at `kept` among the remaining ones.
template <class Scalar>
void FilterChain::Pass<Scalar>::drop_the_rest(bool feed_back) {
  const std::vector<std::uint32_t>& kept = buffers_.kept;
  const std::span<Scalar> values = numbers();
  if (feed_back && !phantom()) {
    std::size_t next = 0;
    for (std::size_t j = 0; j < left_; ++j) {
      if (next < kept.size() && kept[next] == j) ++next;
      else residual()[position(j)] = values[j];
    }
  }
  const bool first = !selected();
  if (first) buffers_.entries.resize(kept.size());
  for (std::size_t j = 0; j < kept.size(); ++j) {
    buffers_.entries[j] = first ? kept[j] : buffers_.entries[kept[j]];
    if (!phantom()) values[j] = values[kept[j]];
  }
  left_ = kept.size();
}

template <class Scalar>
void FilterChain::Pass<Scalar>::write_down(const FilterSpec& filter, Stream stream) {
  quantizer_ = &filter;
  const bool feed_back = feeds_back(filter);
  const std::size_t plain = left_ * bytes_per_value(options_.precision);
  if (filter.kind->select) {
    signed_ = true;
    choose(filter, stream);
  }
  if (filter.kind->coded_bytes(filter.settings, left_) < plain)
    buffers_.used.emplace(filter.kind, options_.push);
  if (phantom()) return;
  const std::span<Scalar> values = numbers();
  if (feed_back) {
    for (std::size_t j = 0; j < left_; ++j) residual()[position(j)] = values[j];
  }
  buffers_.coded.clear();
  Quantization<Scalar> work{
      .settings = filter.settings, .values = values, .stream = stream, .coded = buffers_.coded};
  const auto is_finite = [](Scalar x) { return std::isfinite(x); };
  const bool was_finite = std::ranges::all_of(values, is_finite);
  filter.kind->quantize(work);
  if (was_finite && !std::ranges::all_of(values, is_finite)) buffers_.overflowed.insert(filter.kind);
  if (feed_back) {
    for (std::size_t j = 0; j < left_; ++j) residual()[position(j)] -= values[j];
  }
}

template <class Scalar>
FilterChain::Pass<Scalar>::Size FilterChain::Pass<Scalar>::count_bytes() {
  const std::size_t key_width = KeyBytes{.always = options_.key_bytes.always}.of(listed());
  const bool caching = key_cache_ && key_width > 0;
  const std::size_t signature = caching ? signature_bytes : 0;
  const bool with_keys = key_width > 0 && !(caching && receiver_has_keys(key_width));
  if (key_width > 0 && !with_keys) buffers_.used.emplace(key_cache_->kind, options_.push);
  Size size{size_with(signature, with_keys ? key_width : 0), {}};
  if (!caching || !options_.repeats) return size;
  size.list.signature = chain_.signature_;
  if (!with_keys) size.list.bytes_listed = size_with(signature, key_width);
  return size;
}

template <class Scalar>
std::uint64_t FilterChain::Pass<Scalar>::size_with(std::size_t signature, std::size_t key_width) {
  if (compressor_ && !phantom()) return compressed_size(signature, key_width);
  const std::size_t keys = left_ * key_width;
  const std::size_t values = quantizer_ ? quantizer_->kind->coded_bytes(quantizer_->settings, left_)
                                        : left_ * bytes_per_value(options_.precision);
  return signature + keys + values;
}

template <class Scalar>
void FilterChain::Pass<Scalar>::write_keys(std::size_t width, std::vector<std::byte>& out) {
  const std::uint64_t base = options_.key_bytes.always > 0 ? options_.first_key : 0;
  const std::size_t begin = out.size();
  out.resize(begin + left_ * width);
  for (std::size_t j = 0; j < left_; ++j) {
    std::uint64_t key = base + position(j);
    if (signed_ && std::signbit(numbers()[j])) key |= std::uint64_t{1} << (8 * width - 1);
    std::memcpy(out.data() + begin + j * width, &key, width);  // little-endian, as every machine here
  }
}

// Compares with the key lists of earlier messages, and remembers this list.
template <class Scalar>
bool FilterChain::Pass<Scalar>::receiver_has_keys(std::size_t width) {
  std::optional<std::uint64_t> signature;
  if (!listed()) {
    signature = options_.count;
  } else if (!guessed_) {
    buffers_.payload.clear();
    write_keys(width, buffers_.payload);
    signature = XXH3_64bits(buffers_.payload.data(), buffers_.payload.size());
  }
  chain_.signature_ = signature.value_or(0);
  if (!signature) return false;
  const bool is_known = chain_.known_keys_.has(*signature);
  chain_.known_keys_.note(*signature);
  return is_known;
}

template <class Scalar>
void FilterChain::Pass<Scalar>::append_values(std::vector<std::byte>& payload) {
  const std::span<const Scalar> values = lossy_ ? numbers() : given_.as<Scalar>();
  if (!is_half(options_.precision)) {
    const auto bytes = std::as_bytes(values);
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    return;
  }
  for (const Scalar x : values) {
    const auto scaled = static_cast<float>(static_cast<double>(x) * options_.scale);
    const auto bits = std::bit_cast<std::array<std::byte, 2>>(half_bits(options_.precision, scaled));
    payload.insert(payload.end(), bits.begin(), bits.end());
  }
}

template <class Scalar>
std::size_t FilterChain::Pass<Scalar>::compressed_size(std::size_t signature, std::size_t key_width) {
  std::vector<std::byte>& payload = buffers_.payload;
  payload.assign(signature, std::byte{0});
  if (signature > 0) std::memcpy(payload.data(), &chain_.signature_, signature);
  if (key_width > 0) write_keys(key_width, payload);
  if (quantizer_) {
    payload.insert(payload.end(), buffers_.coded.begin(), buffers_.coded.end());
  } else {
    append_values(payload);
  }
  const std::size_t size = compressor_->kind->compress(payload, buffers_.compressed);
  if (size < payload.size()) buffers_.used.emplace(compressor_->kind, options_.push);
  return size;
}

// The message as the receiver sees it: its old values replace the omitted ones.
template <class Scalar>
Encoded FilterChain::Pass<Scalar>::receive() {
  if (!lossy_) return {.values = given_, .keys = keys_};
  if (remembers_) remember();
  const bool whole = keys_ == nullptr || remembers_;
  Encoded result{.values = {nullptr, 0, whole ? given_.count : left_, given_.version}, .keys = keys_};
  if (!whole && selected()) {
    std::vector<std::uint32_t> keys(left_);
    for (std::size_t j = 0; j < left_; ++j) keys[j] = static_cast<std::uint32_t>(position(j));
    result.keys = std::make_shared<const std::vector<std::uint32_t>>(std::move(keys));
  }
  if (phantom()) return result;
  if (whole && selected()) spread();
  if (differs_) add_up();
  result.values.values = std::make_shared<const Values>(std::move(numbers_));
  return result;
}

template <class Scalar>
void FilterChain::Pass<Scalar>::remember() {
  for (std::size_t j = 0; j < left_; ++j) {
    chain_.is_known_[position(j)] = true;
    if (!phantom()) known()[position(j)] = numbers()[j];
  }
}

// Moves each value from the front of the message to its place. Backwards, because no value moves to the
// front.
template <class Scalar>
void FilterChain::Pass<Scalar>::spread() {
  const std::span<Scalar> all = numbers_.template as<Scalar>();
  std::size_t j = left_;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (j > 0 && buffers_.entries[j - 1] == i) all[i] = all[--j];
    else all[i] = remembers_ ? known()[position_of(i)] : Scalar{0};
  }
}

// The receiver's copy of the sum of all messages, which is the sender's.
template <class Scalar>
void FilterChain::Pass<Scalar>::add_up() {
  const std::span<Scalar> all = numbers_.template as<Scalar>();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = residual()[position_of(i)] += all[i];
}

FilterChain::FilterChain(Options options) : options_(std::move(options)), known_keys_(options_.key_lists) {
  const auto stage = [this](std::size_t i) { return options_.filters[i].stage(); };
  for (std::size_t i = 1; i < options_.filters.size(); ++i) {
    if (stage(i) < stage(i - 1) || (stage(i) == stage(i - 1) && stage(i) != FilterStage::select))
      throw std::logic_error("filters in an impossible order");
  }
  if (!options_.buffers) options_.buffers = std::make_shared<FilterBuffers>();
}

Encoded FilterChain::encode(const Slice& values, const SharedKeys& keys, const Slice& weights, double l1) {
  if (values.count != (keys ? keys->size() : options_.count))
    throw std::logic_error("the numbers of a message's values and keys differ");
  if (options_.filters.empty()) return plain(values, keys, options_.precision, options_.key_bytes);
  const Encoded result = with_scalar(options_.precision, [&]<class Scalar>(Scalar) {
    return Pass<Scalar>(*this, values, keys, weights, l1).run();
  });
  ++messages_;
  return result;
}

void FilterChain::answer_to(std::int64_t number, std::int64_t has) {
  if (has != answered_) {
    is_known_.clear();
    if (options_.repeats) forget_keys();
  }
  answered_ = number;
}

void FilterChain::forget_keys() { known_keys_.forget(); }

void FilterChain::forget_receiver() {
  forget_keys();
  is_known_.clear();
}

std::unique_ptr<FilterChain> FilterChain::cut(std::size_t at, Options rest) {
  rest.count = options_.count - at;
  auto upper = std::make_unique<FilterChain>(std::move(rest));
  if (residual_) {
    upper->residual_ = Values::copy_of(*residual_, at, options_.count - at);
    residual_ = Values::copy_of(*residual_, 0, at);
  }
  known_.reset();
  upper->messages_ = messages_;
  options_.count = at;
  forget_receiver();
  return upper;
}

Encoded FilterChain::plain(const Slice& values, const SharedKeys& keys, Precision precision,
                           const KeyBytes& key_bytes) {
  const std::size_t width = bytes_per_value(precision) + key_bytes.of(keys != nullptr);
  return {.values = values, .keys = keys, .bytes = values.count * width};
}

namespace {

std::size_t snappy_size(std::span<const std::byte> payload, std::vector<std::byte>& out) {
  out.resize(snappy::MaxCompressedLength(payload.size()));
  std::size_t size = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(payload.data()), payload.size(),
                      reinterpret_cast<char*>(out.data()), &size);
  return size;
}

}  // namespace

template <>
std::deque<FilterRow> built_in_rows() {
  std::deque<FilterRow> rows{
      {.name = "key-caching",
       .stage = FilterStage::keys,
       .doc = "a short signature instead of the list of keys, if the previous message had the same keys",
       .wire = "8 bytes for the keys; also the keys themselves the first time and after a change",
       .source = "Li et al., OSDI 2014; parameter_server KEY_CACHING"},
      {.name = "snappy",
       .aliases = "compressing",
       .stage = FilterStage::bytes,
       .needs_numbers = true,
       .compress = snappy_size,
       .doc = "the message's bytes are compressed without loss",
       .wire = "the size of keys and values after Snappy",
       .source = "Li et al., OSDI 2014; parameter_server COMPRESSING"},
  };
  std::ranges::move(quantizing_filters(), std::back_inserter(rows));
  std::ranges::move(selecting_filters(), std::back_inserter(rows));
  return rows;
}

}  // namespace psim
