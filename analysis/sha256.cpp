#include "analysis/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <span>
#include <stdexcept>

namespace psim::analysis {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("libcrypto cannot compute a SHA-256");
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

}  // namespace psim::analysis
