// A generic lambda, for both precisions of numbers.
#pragma once

#include <functional>

namespace psim {

template <template <class> class Work>
class ScalarCode {
 public:
  ScalarCode() = default;
  template <class Code>
  ScalarCode(Code code) : of_float_(code), of_double_(code) {}
  explicit operator bool() const { return static_cast<bool>(of_float_); }
  void operator()(Work<float>& work) const { of_float_(work); }
  void operator()(Work<double>& work) const { of_double_(work); }

 private:
  std::function<void(Work<float>&)> of_float_;
  std::function<void(Work<double>&)> of_double_;
};

}  // namespace psim
