// The handwritten digits of scenarios/data, embedded in the binary: psim has a data set to learn from in any
// directory.
#include <string_view>

#include "model/data/files.hpp"
#include "model/dataset.hpp"

// The assembler copies the file into the read-only data; the build defines PSIM_DIGITS_FILE as its path.
asm(".pushsection .rodata\n"
    ".global psim_digits_begin, psim_digits_end\n"
    ".hidden psim_digits_begin, psim_digits_end\n"
    "psim_digits_begin:\n"
    ".incbin \"" PSIM_DIGITS_FILE
    "\"\n"
    "psim_digits_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const char psim_digits_begin[];
[[gnu::visibility("hidden")]] extern const char psim_digits_end[];
}

namespace psim {

namespace {

Dataset read_digits() {
  const std::string name = "digits.csv.gz (inside psim)";
  const std::string_view compressed(psim_digits_begin,
                                    static_cast<std::size_t>(psim_digits_end - psim_digits_begin));
  Dataset digits = parse_csv(gunzip(compressed, name), name);
  digits.inputs /= 16.0F;  // A pixel counts the inked pixels of a block of 4x4.
  return digits;
}

}  // namespace

// The file is read once, because a study plans thousands of runs.
Dataset load_digits() {
  static const Dataset digits = read_digits();
  return digits;
}

}  // namespace psim
