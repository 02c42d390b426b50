// The IDX format of MNIST (Y. LeCun, C. Cortes, C. Burges: The MNIST database of handwritten digits):
// big-endian magic number and dimensions, then one byte per pixel or label.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

#include "model/base/memory.hpp"
#include "model/data/files.hpp"
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

const fs::path system_folder = "/usr/share/datasets";  // of Debian's packages, such as dataset-fashion-mnist

// The first folder that holds all four files: files of different folders may not belong together. A data
// folder may also hold the files itself.
IdxFolder find_idx(const fs::path& path, const Folders& search) {
  std::string looked_for;
  std::vector<fs::path> places = candidates(path, search);
  if (path.is_relative()) {
    places.insert(places.end(), search.begin(), search.end());
    places.push_back(system_folder / path);
  }
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
  throw DataError(
      fmt::format("cannot find the data set `{}`: no folder holds its four files; looked for {}",
                  path.string(), looked_for),
      "`apt-get install dataset-fashion-mnist` installs Fashion-MNIST for path = \"fashion-mnist\"; psim "
      "looks for other data in `--data-dir DIR` and PSIM_DATA=DIR");
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

constexpr std::size_t most_bytes = most_data_values + 16;  // of all values, one byte each, and the header

// Reads one file piece by piece, and hands its values on. It reports the first problem only at the end,
// because the file's compression may turn out to be broken: that is the reason for every other problem.
class IdxReader {
 public:
  using Dimensions = std::vector<std::uint32_t>;
  using Begin = std::function<void(const Dimensions& dimensions)>;

  // `begin` takes the dimensions, then `take` the values, in order and never more than they say. After an
  // exception the values are worthless.
  IdxReader(const fs::path& path, std::uint32_t magic, Begin begin, TakePiece take)
      : path_(path), magic_(magic), begin_(std::move(begin)), take_(std::move(take)) {}

  void read() {
    each_piece(path_, most_bytes, [this](std::string_view piece) { add(piece); });
    if (!problem_.empty()) throw DataError(fmt::format("{}: {}", path_.string(), problem_));
    if (bytes_ < needed_)
      throw DataError(fmt::format("{}: truncated: missing bytes: {}", path_.string(), needed_ - bytes_));
    if (bytes_ > needed_)
      throw DataError(fmt::format("{}: corrupt: excess bytes: {}", path_.string(), bytes_ - needed_));
  }

 private:
  void add(std::string_view piece) {
    // The magic number, then the dimensions, then the values.
    while (!piece.empty() && problem_.empty() && !values_begun_) {
      const std::string_view part = piece.substr(0, needed_ - bytes_);
      header_ += part;
      bytes_ += part.size();
      piece.remove_prefix(part.size());
      if (bytes_ < needed_) return;
      if (bytes_ == 4) read_magic();
      else read_dimensions();
    }
    if (has_room_ && bytes_ < needed_) take_(piece.substr(0, needed_ - bytes_));
    bytes_ += piece.size();
  }

  void read_magic() {
    if (big_endian(header_) != magic_)
      problem_ = fmt::format("not the expected IDX file: it begins with {:#010x} instead of {:#010x}",
                             big_endian(header_), magic_);
    needed_ += 4 * (magic_ & 0xffU);  // the magic's last byte counts the dimensions
  }

  void read_dimensions() {
    Dimensions dimensions;
    std::uint64_t values = 1;
    for (std::size_t at = 4; at < header_.size(); at += 4) {
      const std::uint32_t dimension = big_endian(std::string_view(header_).substr(at));
      // The bound on image sides also keeps the product of the three from overflowing.
      if (dimension == 0 || (at > 4 && dimension > 65535)) {
        problem_ = fmt::format("corrupt: a dimension is {}", dimension);
        return;
      }
      dimensions.push_back(dimension);
      values *= dimension;
    }
    needed_ += values;
    values_begun_ = true;
    // A corrupt header must not reserve memory that its file cannot fill: deflate makes a file at most 1032
    // times smaller (zlib's technical details, "maximum compression factor").
    has_room_ = needed_ <= most_bytes && needed_ / 1032 <= fs::file_size(path_);
    if (has_room_) begin_(dimensions);
  }

  fs::path path_;
  std::uint32_t magic_;
  Begin begin_;
  TakePiece take_;
  std::string header_, problem_;
  std::uint64_t bytes_ = 0, needed_ = 4;
  bool values_begun_ = false, has_room_ = false;
};

void read_images(const fs::path& path, SampleMatrix& inputs) {
  float* next = nullptr;
  IdxReader reader(
      path, images_magic,
      [&](const IdxReader::Dimensions& sizes) {
        inputs.resize(sizes[0], Eigen::Index{sizes[1]} * sizes[2]);
        next = inputs.data();
        prefer_huge_pages(next, static_cast<std::size_t>(inputs.size()) * sizeof(float));
      },
      [&](std::string_view pixels) {
        next = std::ranges::transform(pixels, next, [](char pixel) {
                 return static_cast<float>(static_cast<unsigned char>(pixel)) / 255.0F;
               }).out;
      });
  reader.read();
}

void read_labels(const fs::path& path, std::vector<std::int32_t>& labels) {
  IdxReader reader(
      path, labels_magic, [&](const IdxReader::Dimensions& sizes) { labels.reserve(sizes[0]); },
      [&](std::string_view bytes) {
        for (const char byte : bytes) labels.push_back(static_cast<unsigned char>(byte));
      });
  reader.read();
}

Dataset combine_idx(const fs::path& images, const fs::path& labels) {
  Dataset data;
  read_labels(labels, data.labels);
  read_images(images, data.inputs);
  const auto samples = static_cast<std::size_t>(data.inputs.rows());
  if (samples != data.labels.size())
    throw DataError(fmt::format("the number of images in {} is {}, but the number of labels in {} is {}",
                                images.string(), samples, labels.string(), data.labels.size()));
  data.classes = *std::max_element(data.labels.begin(), data.labels.end()) + 1;
  return data;
}

}  // namespace

DataSplit load_idx(const fs::path& folder, const Folders& search) {
  const IdxFolder files = find_idx(folder, search);
  // A second thread, if the system has one to spare.
  auto test = std::async([&files] { return combine_idx(files.test_images, files.test_labels); });
  DataSplit split{.train = combine_idx(files.train_images, files.train_labels), .test = test.get()};
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
