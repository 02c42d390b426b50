// The IDX format of MNIST (Y. LeCun, C. Cortes, C. Burges: The MNIST database of handwritten digits):
// big-endian magic number and dimensions, then one byte per pixel or label.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "model/data/sources.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t images_magic = 0x803;  // unsigned bytes, three dimensions
constexpr std::uint32_t labels_magic = 0x801;  // unsigned bytes, one dimension

struct IdxFolder {
  fs::path train_images, train_labels, test_images, test_labels;
};

constexpr std::array idx_files{
    std::pair{&IdxFolder::train_images, "train-images-idx3-ubyte"},
    std::pair{&IdxFolder::train_labels, "train-labels-idx1-ubyte"},
    std::pair{&IdxFolder::test_images, "t10k-images-idx3-ubyte"},
    std::pair{&IdxFolder::test_labels, "t10k-labels-idx1-ubyte"},
};

// The first folder that holds all four files: files of different folders may not belong together. A data
// folder may also hold the files itself.
IdxFolder find_idx(const fs::path& path, const Folders& search) {
  std::string looked_for;
  std::vector<fs::path> places = candidates(path, search);
  if (path.is_relative()) places.insert(places.end(), search.begin(), search.end());
  for (const fs::path& place : places) {
    IdxFolder folder;
    const char* missing = nullptr;
    for (const auto& [member, name] : idx_files) {
      const std::optional<fs::path> file = plain_or_gz(place / name);
      if (file) folder.*member = *file;
      else if (missing == nullptr) missing = name;
    }
    if (missing == nullptr) return folder;
    std::error_code ignored;
    looked_for += fmt::format("{}{}[.gz]{}", looked_for.empty() ? "" : ", ", (place / missing).string(),
                              fs::is_directory(place, ignored) ? "" : " (no such folder)");
  }
  throw DataError(fmt::format("cannot find the data set `{}`: no folder holds its four files; looked for {}",
                              path.string(), looked_for.empty() ? "it in no folder at all" : looked_for),
                  "to get Fashion-MNIST, run `scenarios/fetch_fashion_mnist.sh DIR`, then give "
                  "`--data-dir DIR` or set PSIM_DATA=DIR");
}

struct IdxContent {
  std::string name;
  std::string bytes;
  std::vector<std::uint32_t> dimensions;
  std::size_t header_size = 0;

  std::uint32_t count() const { return dimensions.front(); }
  std::uint8_t value(std::size_t i) const { return static_cast<std::uint8_t>(bytes[header_size + i]); }
};

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

constexpr std::size_t most_bytes = most_data_values + 16;  // of all values, one byte each, and the header

IdxContent read_idx(const fs::path& path, std::uint32_t magic) {
  IdxContent content{.name = path.string(), .bytes = read_file(path, most_bytes), .dimensions = {}};
  const std::string_view bytes = content.bytes;
  const auto need = [&](std::uint64_t size) {
    if (bytes.size() < size)
      throw DataError(fmt::format("{}: truncated: missing bytes: {}", content.name, size - bytes.size()));
  };
  need(4);
  if (big_endian(bytes) != magic)
    throw DataError(fmt::format("{}: not the expected IDX file: it begins with {:#010x} instead of {:#010x}",
                                content.name, big_endian(bytes), magic));

  content.header_size = 4 + 4 * (magic & 0xffU);  // the magic's last byte counts the dimensions
  need(content.header_size);
  std::uint64_t size = 1;
  for (std::size_t at = 4; at < content.header_size; at += 4) {
    const std::uint32_t dimension = big_endian(bytes.substr(at));
    // The bound on image sides also keeps the product of the three from overflowing.
    if (dimension == 0 || (at > 4 && dimension > 65535))
      throw DataError(fmt::format("{}: corrupt: a dimension is {}", content.name, dimension));
    content.dimensions.push_back(dimension);
    size *= dimension;
  }
  need(content.header_size + size);
  if (bytes.size() > content.header_size + size)
    throw DataError(fmt::format("{}: corrupt: excess bytes: {}", content.name,
                                bytes.size() - content.header_size - size));
  return content;
}

Dataset combine_idx(const fs::path& images_path, const fs::path& labels_path) {
  const IdxContent labels = read_idx(labels_path, labels_magic);
  const IdxContent images = read_idx(images_path, images_magic);
  if (images.count() != labels.count())
    throw DataError(fmt::format("the number of images in {} is {}, but the number of labels in {} is {}",
                                images.name, images.count(), labels.name, labels.count()));

  Dataset data;
  const Eigen::Index pixels = Eigen::Index{images.dimensions[1]} * images.dimensions[2];
  data.inputs.resize(images.count(), pixels);
  float* const inputs = data.inputs.data();
  const auto total = static_cast<std::size_t>(data.inputs.size());
  for (std::size_t i = 0; i < total; ++i) inputs[i] = static_cast<float>(images.value(i)) / 255.0F;
  for (std::size_t i = 0; i < labels.count(); ++i) data.labels.push_back(labels.value(i));
  data.classes = *std::max_element(data.labels.begin(), data.labels.end()) + 1;
  return data;
}

}  // namespace

DataSplit load_idx(const fs::path& folder, const Folders& search) {
  const IdxFolder files = find_idx(folder, search);
  DataSplit split{.train = combine_idx(files.train_images, files.train_labels),
                  .test = combine_idx(files.test_images, files.test_labels)};
  if (split.test.features() != split.train.features())
    throw DataError(fmt::format("{}: its images have {} pixels, those of {} have {}",
                                files.test_images.string(), split.test.features(),
                                files.train_images.string(), split.train.features()));
  if (split.test.classes > split.train.classes)
    throw DataError(fmt::format("{}: label {} does not occur in {}", files.test_labels.string(),
                                split.test.classes - 1, files.train_labels.string()));
  split.test.classes = split.train.classes;
  return split;
}

}  // namespace psim
