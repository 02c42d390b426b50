// A kind of fault: messages that come later by exponential times.
#include "sim/scenario/spec/faults.hpp"

namespace {

const psim::Addition<psim::FaultKindRow> jitter{
    {.name = "jitter",
     .doc = "messages come later by exponential times of mean `delay`",
     .on = psim::FaultOn::messages,
     .window = true,
     .meet = [](psim::MessageFate& fate, const psim::FaultSpec& spec,
                psim::Stream& stream) { fate.delay += spec.delay->value * stream.exponential(); },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = "until, or lasts"}};

}  // namespace
