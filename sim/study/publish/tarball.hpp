// A study as a .tar.gz that has the same bytes whoever makes it, when and where: no owners, no order of a
// disk, and one date.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "sim/runs/files.hpp"

struct archive;

namespace psim::study {

class Tarball {
 public:
  // `root`: the folder that everything in it is in. Throws std::filesystem::filesystem_error.
  Tarball(const fs::path& file, const std::string& root);
  ~Tarball();
  Tarball(const Tarball&) = delete;
  Tarball& operator=(const Tarball&) = delete;

  // A file, by its path in the root; folders on the way to it come with it.
  void add(const std::string& name, const std::string& content);
  // All of it is on its way to the disk.
  void finish();

 private:
  void add_folder(const fs::path& folder);
  void check(int result);

  struct Free {
    void operator()(struct ::archive* writer) const;
  };
  fs::path file_, root_;
  std::set<fs::path> folders_;  // that are in it
  std::unique_ptr<struct ::archive, Free> writer_;
};

// Whether psim archive wrote the file: it begins with a folder and the manifest of a study.
bool is_study_archive(const fs::path& file);

}  // namespace psim::study
