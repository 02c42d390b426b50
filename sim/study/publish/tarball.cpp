#include "sim/study/publish/tarball.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "analysis/input.hpp"
#include "model/input.hpp"

namespace psim::study {
namespace {

constexpr time_t entry_date = 315'532'800;  // 1980: programs warn about dates in 1970

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

Entry entry_of(const fs::path& path, unsigned type, unsigned mode) {
  Entry entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), type);
  archive_entry_set_perm(entry.get(), mode);
  archive_entry_set_mtime(entry.get(), entry_date, 0);
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  return entry;
}

}  // namespace

void Tarball::Free::operator()(struct ::archive* writer) const { archive_write_free(writer); }

Tarball::Tarball(const fs::path& file, const std::string& root)
    : file_(file), root_(root), writer_(archive_write_new()) {
  check(archive_write_set_format_gnutar(writer_.get()));
  check(archive_write_add_filter_gzip(writer_.get()));
  check(archive_write_set_filter_option(writer_.get(), "gzip", "compression-level", "9"));
  check(archive_write_set_filter_option(writer_.get(), "gzip", "timestamp", nullptr));
  check(archive_write_open_filename(writer_.get(), file_.c_str()));
}

// An unfinished archive is not closed, because closing would write the end of an archive.
Tarball::~Tarball() {
  if (writer_) archive_write_fail(writer_.get());
}

void Tarball::check(int result) {
  if (result == ARCHIVE_OK) return;
  const int error = archive_errno(writer_.get());
  if (error > 0) throw fs::filesystem_error("write", file_, std::error_code(error, std::generic_category()));
  const char* why = archive_error_string(writer_.get());
  throw std::runtime_error(fmt::format("{}: {}", file_.string(), why == nullptr ? "cannot be written" : why));
}

void Tarball::add_folder(const fs::path& folder) {
  if (folder.empty() || !folders_.insert(folder).second) return;
  add_folder(folder.parent_path());
  const Entry entry = entry_of(folder / "", AE_IFDIR, 0755);
  check(archive_write_header(writer_.get(), entry.get()));
}

void Tarball::add(const std::string& name, const std::string& content) {
  const fs::path path = root_ / name;
  add_folder(path.parent_path());
  const Entry entry = entry_of(path, AE_IFREG, 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  check(archive_write_header(writer_.get(), entry.get()));
  for (std::size_t done = 0; done < content.size();) {
    const la_ssize_t written =
        archive_write_data(writer_.get(), content.data() + done, content.size() - done);
    if (written <= 0) check(written < 0 ? static_cast<int>(written) : ARCHIVE_FATAL);
    done += static_cast<std::size_t>(written);
  }
}

void Tarball::finish() {
  check(archive_write_close(writer_.get()));
  writer_.reset();
}

bool is_study_archive(const fs::path& file) try {
  static_cast<void>(InputFile(file));
  struct Free {
    void operator()(struct ::archive* reader) const { archive_read_free(reader); }
  };
  const std::unique_ptr<struct ::archive, Free> reader(archive_read_new());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  constexpr std::size_t block = 10240;
  if (archive_read_open_filename(reader.get(), file.c_str(), block) != ARCHIVE_OK) return false;
  const auto next = [&]() -> fs::path {
    archive_entry* entry = nullptr;
    if (archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) return {};
    const char* name = archive_entry_pathname(entry);
    return name == nullptr ? "" : name;
  };
  const fs::path folder = next(), manifest = next();
  if (folder.empty() || manifest != folder / "manifest.json") return false;
  std::string begin(256, '\0');
  const la_ssize_t got = archive_read_data(reader.get(), begin.data(), begin.size());
  return got > 0 && begin.find("\"psim.study/") != std::string::npos;
} catch (const InputError&) {
  return false;
}

}  // namespace psim::study
