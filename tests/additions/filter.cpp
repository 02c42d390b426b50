// A message filter: single precision without its last bits.
#include <bit>

#include "sim/protocol/filter.hpp"

namespace {

const psim::Setting mantissa{.key = "mantissa",
                             .doc = "Bits of the mantissa that are sent, of 23.",
                             .value = std::int64_t{7},
                             .min = 0,
                             .max = 23,
                             .draws = {"3", "11"}};

const psim::Addition<psim::FilterRow> truncate{
    {.name = "truncate",
     .stage = psim::FilterStage::quantize,
     .error_feedback = psim::ErrorFeedback::off,
     .settings = {&mantissa},
     .quantize =
         []<class Scalar>(psim::Quantization<Scalar>& q) {
           const auto dropped = static_cast<std::uint32_t>(23 - q(mantissa));
           for (Scalar& x : q.values) {
             const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> dropped << dropped;
             x = static_cast<Scalar>(std::bit_cast<float>(bits));
           }
           q.coded.resize(q.values.size() * (static_cast<std::size_t>(q(mantissa)) + 9) / 8 + 1);
         },
     .coded_bytes =
         [](const psim::Settings& settings, std::size_t count) {
           return count * (static_cast<std::size_t>(settings.of(mantissa)) + 9) / 8 + 1;
         },
     .doc = "single precision with `mantissa` bits of its mantissa, the others cut off",
     .wire = "9 + `mantissa` bits a value",
     .source = "bfloat16 with 7 bits: Wang, Kanwar 2019"}};

}  // namespace
