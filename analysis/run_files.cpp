#include "analysis/run_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/base/input.hpp"
#include "model/base/unicode.hpp"

namespace psim::analysis {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view sums = "checksums";
constexpr std::string_view summary_begins = "{\n  \"schema\": \"psim.summary/1\"";
constexpr std::array<std::string_view, 3> every_run_has{"run.db", "scenario.toml", "summary.json"};

bool is_of_a_run(std::string_view name) {
  if (std::ranges::count(every_run_has, name) > 0 || name == sums) return true;
  constexpr std::string_view before = "namespace-", after = ".toml";
  if (!name.starts_with(before) || !name.ends_with(after)) return false;
  name.remove_prefix(before.size());
  name.remove_suffix(std::min(after.size(), name.size()));
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Empty if the file cannot be read.
std::string head_of(const fs::path& path, std::size_t bytes) try {
  return beginning_of(path, bytes);
} catch (const InputError&) {
  return {};
}

bool bears_mark(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "summary.json") return head_of(path, summary_begins.size()) == summary_begins;
  if (name != "run.db") return false;
  constexpr std::size_t at = 68, bytes = 4;  // https://www.sqlite.org/fileformat.html, section 1.3
  const std::string header = head_of(path, at + bytes);
  if (!header.starts_with("SQLite format 3") || header.size() < at + bytes) return false;
  std::uint32_t id = 0;
  for (const char c : header.substr(at)) id = id << 8U | static_cast<unsigned char>(c);
  return id == application_id;
}

// Whether psim wrote the file.
bool is_ours(const fs::path& path) {
  const std::string name = path.filename().string();
  return is_of_a_run(name) || is_unfinished(name) || is_page(path);
}

// None if the file cannot be read.
std::optional<std::string> hash_of(const fs::path& path) try {
  InputFile file(path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> block(std::size_t{1} << 18U);
  while (const std::size_t got = file.read(block.data(), block.size()))
    XXH3_64bits_update(state.get(), block.data(), got);
  return fmt::format("XXH3_{:016x}", XXH3_64bits_digest(state.get()));
} catch (const InputError&) {
  return std::nullopt;
}

// By name.
std::map<std::string, fs::path, std::less<>> sealed_files(const fs::path& folder) {
  std::map<std::string, fs::path, std::less<>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_of_a_run(name) && name != sums) files.emplace(name, entry.path());
  }
  return files;
}

}  // namespace

bool bears_page_mark(const fs::path& path) {
  constexpr std::size_t head = 1000;
  return head_of(path, head).find(page_mark) != std::string::npos;
}

bool is_page(const fs::path& path) {
  const fs::path name = path.filename();
  return (name == page_name || name == show_name) && bears_page_mark(path);
}

bool names_process(std::string_view text) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string begin = std::string(host) + "-";
  return text.size() > begin.size() && text.starts_with(begin) &&
         text.find_first_not_of("0123456789", begin.size()) == std::string_view::npos;
}

bool is_unfinished(std::string_view name) {
  const std::size_t at = name.rfind(unfinished);
  return at != std::string_view::npos && names_process(name.substr(at + unfinished.size()));
}

Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const fs::file_status status = entry.symlink_status();
    if (!fs::exists(status)) continue;  // removed in the meantime
    contents.empty = false;
    if (!fs::is_regular_file(status) || !is_ours(entry.path())) contents.foreign = name;
    else if (name == sums) contents.complete = true;
    else if (bears_mark(entry.path())) contents.marked = true;
  }
  return contents;
}

std::error_code remove_run(const fs::path& folder) {
  return remove_folder(folder, [&](const fs::path& path, fs::file_type type) {
    return type == fs::file_type::regular && is_ours(folder / path);
  });
}

void seal(const fs::path& folder) {
  std::string text;
  for (const auto& [name, path] : sealed_files(folder)) {
    const std::optional<std::string> hash = hash_of(path);
    if (!hash) throw std::runtime_error(fmt::format("{}: cannot be read again", path.string()));
    text += fmt::format("{}  {}\n", *hash, name);
  }
  std::ofstream file(folder / sums, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written", (folder / sums).string()));
}

std::string broken_seal(const fs::path& folder) {
  // Reading a pipe or a device might never end.
  const auto is_file = [&folder](std::string_view name) { return fs::is_regular_file(folder / name); };
  if (!is_file(sums)) return fmt::format("{} is missing", sums);
  constexpr std::size_t most_sums = 1'000'000;
  std::istringstream text(head_of(folder / sums, most_sums));
  std::map<std::string, std::string, std::less<>> sealed;
  for (std::string line; std::getline(text, line);) {
    const std::size_t gap = line.find("  ");
    if (gap != std::string::npos) sealed[line.substr(gap + 2)] = line.substr(0, gap);
  }
  const std::map<std::string, fs::path, std::less<>> files = sealed_files(folder);
  for (const std::string_view name : every_run_has) {
    if (!files.contains(name)) return fmt::format("{} is missing", name);
  }
  for (const auto& [name, hash] : sealed) {
    if (!files.contains(name)) return fmt::format("{} is missing", name);
  }
  for (const std::string_view name : every_run_has) {
    if (!sealed.contains(name)) return fmt::format("{} does not name {}", sums, name);
  }
  std::string whole;  // each file once, in order
  for (const auto& [name, path] : files) {
    if (!is_file(name)) return fmt::format("{} is no file", name);
    if (!sealed.contains(name)) return fmt::format("{} was not there when the run was written", name);
    if (hash_of(path) != sealed[name]) return fmt::format("{} has changed since it was written", name);
    whole += fmt::format("{}  {}\n", sealed[name], name);
  }
  return text.str() == whole ? "" : fmt::format("{} has changed", sums);
}

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("libcrypto cannot compute a SHA-256");
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

fs::file_type type_of(mode_t mode) {
  if (S_ISREG(mode)) return fs::file_type::regular;
  if (S_ISDIR(mode)) return fs::file_type::directory;
  return S_ISLNK(mode) ? fs::file_type::symlink : fs::file_type::unknown;
}

// Works relative to open folders, so it never follows a link that replaces a folder meanwhile.
class Removal {
 public:
  explicit Removal(const MayGo& may_go) : may_go_(may_go) {}

  void empty(int folder, const fs::path& within) {
    struct stat here {};
    if (fstat(folder, &here) != 0) return note();
    for (const std::string& name : names_in(folder)) {
      struct stat facts {};
      if (fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) note();  // another process removes the same files
        continue;
      }
      const bool is_folder = S_ISDIR(facts.st_mode);
      if (is_folder && facts.st_dev != here.st_dev) continue;  // another file system is mounted there
      if (!may_go_(within / name, type_of(facts.st_mode))) continue;
      if (is_folder && !emptied(folder, name, within / name)) continue;
      remove(folder, name, is_folder);
    }
  }
  void remove(int folder, const std::string& name, bool is_folder) {
    if (unlinkat(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return;
    if (!is_folder || (errno != ENOTEMPTY && errno != EEXIST)) note();
  }
  std::error_code error() const { return error_; }

 private:
  void note() {
    if (!error_) error_ = last_error();
  }
  bool emptied(int folder, const std::string& name, const fs::path& within) {
    const int inner = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) return note(), false;
    empty(inner, within);
    close(inner);
    return true;
  }
  std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    DIR* entries = fdopendir(dup(folder));
    if (entries == nullptr) return note(), names;
    while (const dirent* entry = readdir(entries)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    closedir(entries);
    return names;
  }

  const MayGo& may_go_;
  std::error_code error_;
};

}  // namespace

std::error_code remove_folder(const fs::path& folder, const MayGo& may_go) {
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const int outer = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (outer < 0) return last_error();
  const int inner = openat(outer, folder.filename().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) {
    const std::error_code error = last_error();
    close(outer);
    return error;
  }
  Removal removal(may_go);
  removal.empty(inner, {});
  close(inner);
  removal.remove(outer, folder.filename(), true);
  close(outer);
  return removal.error();
}

std::error_code remove_empty(const fs::path& folder) {
  return rmdir(folder.c_str()) == 0 ? std::error_code() : last_error();
}

Json json_in(std::string_view text) {
  if (!too_much_json(text).empty()) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

Json json_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t most = std::uintmax_t{256} << 20U;
  return json_in(read_input(path, std::min(most, most_input())));
}

std::string scenario_text(const std::filesystem::path& path) {
  constexpr std::uintmax_t most = std::uintmax_t{64} << 20U;
  return read_input(path, most);
}

toml::table toml_file(const std::filesystem::path& path) {
  const std::string text = scenario_text(path);
  if (const auto deep = first_too_deep(text))
    throw InputError(path.string(), deep->key ? "a key has too many parts" : "brackets are nested too deeply",
                     "no scenario of psim has this");
  try {
    return toml::parse(text, path.string());
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}", path.string(), error.source().begin.line),
                     std::string(error.description()), "it is TOML");
  }
}

}  // namespace psim::analysis
