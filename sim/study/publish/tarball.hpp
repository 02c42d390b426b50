// A study as a .tar.gz. Its bytes do not depend on the user, time or machine: it has no owners, a fixed order
// and one date.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "sim/runs/files.hpp"

struct archive;

namespace psim::study {

class Tarball {
 public:
  // `root`: the top folder of the archive. Throws std::filesystem::filesystem_error.
  Tarball(const fs::path& file, const std::string& root);
  ~Tarball();
  Tarball(const Tarball&) = delete;
  Tarball& operator=(const Tarball&) = delete;

  // Adds a file at a path relative to the root, and the folders of that path.
  void add(const std::string& name, const std::string& content);
  // Completes the archive and writes it to the disk.
  void finish();

 private:
  void add_folder(const fs::path& folder);
  void check(int result);

  struct Free {
    void operator()(struct ::archive* writer) const;
  };
  fs::path file_, root_;
  std::set<fs::path> folders_;  // already in the archive
  std::unique_ptr<struct ::archive, Free> writer_;
};

// Whether psim archive wrote the file: then it begins with a folder and the manifest of a study.
bool is_study_archive(const fs::path& file);

}  // namespace psim::study
