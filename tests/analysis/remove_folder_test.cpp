// Goal: the one function that removes folders removes what it may, and nothing that a link leads to.
#include "analysis/run_files.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::analysis;
namespace fs = std::filesystem;

TEST_CASE("what a link leads to stays when the link goes", "[files]") {
  const psim::test::TemporaryFolder place;
  const fs::path folder = place.path() / "folder", other = place.path() / "other";
  fs::create_directories(folder / "within");
  fs::create_directories(other);
  std::ofstream(other / "file") << "kept";
  std::ofstream(folder / "within" / "file") << "gone";
  fs::create_directory_symlink(other, folder / "to a folder");
  fs::create_symlink(other / "file", folder / "within" / "to a file");
  fs::create_symlink("nowhere", folder / "to nothing");
  CHECK_FALSE(remove_folder(folder, [](const fs::path&, fs::file_type) { return true; }));
  CHECK_FALSE(fs::exists(folder));
  CHECK(psim::test::content(other / "file") == "kept");
  fs::create_directory_symlink(other, folder);
  CHECK(remove_folder(folder, [](const fs::path&, fs::file_type) { return true; }));  // it is no folder
  CHECK(psim::test::content(other / "file") == "kept");
}

TEST_CASE("a folder stays with all that may not go", "[files]") {
  const psim::test::TemporaryFolder place;
  const fs::path folder = place.path() / "folder";
  fs::create_directories(folder / "a" / "b");
  fs::create_directories(folder / "c");
  for (const char* name : {"a/b/own", "a/foreign", "c/own", "own"}) std::ofstream(folder / name) << name;
  const auto may_go = [](const fs::path& within, fs::file_type type) {
    return type == fs::file_type::directory || within.filename() == "own";
  };
  CHECK_FALSE(remove_folder(folder, may_go));
  CHECK(psim::test::content(folder / "a" / "foreign") == "a/foreign");
  for (const char* name : {"a/b", "c", "own"}) CHECK_FALSE(fs::exists(folder / name));
}
