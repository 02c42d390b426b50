// The files in a run's folder: which they are, how a run is told from a folder of somebody's own, and whether
// they still are what psim wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace psim::analysis {

// A page that psim report made may stand beside a run's or a study's files. It says so itself at its
// beginning: a file of the same name without this mark is somebody else's.
inline constexpr std::string_view page_name = "report.html";
inline constexpr std::string_view page_mark = R"(<meta name="generator" content="psim report">)";
bool bears_page_mark(const std::filesystem::path& path);
bool is_page(const std::filesystem::path& path);  // and has that name
// "report.html.new-host-1234": a page that was about to take the place of report.html when its process was
// killed.
bool is_unfinished_page(std::string_view name);
// "HOST-PROCESS", with the name of this machine.
bool names_process(std::string_view text);

// Bytes 68 to 71 of run.db, big-endian: "psim".
inline constexpr std::uint32_t application_id = 0x7073696d;

struct Contents {
  bool empty = true;
  std::string foreign;    // something that psim does not write there; empty: there is nothing of the kind
  bool complete = false;  // there are checksums, which are written last
  bool marked = false;    // a file bears psim's mark, so that the folder surely is a run
};

// Throws std::filesystem::filesystem_error when the folder cannot be read.
Contents contents_of(const std::filesystem::path& folder);

// Removes the files of a run and then the folder. Whatever else is in there stays, and so does the folder.
// Returns why a file of the run is still there.
std::error_code remove_run(const std::filesystem::path& folder);

// Writes the file `checksums`: a hash of every other file but the page. `xxhsum -c checksums` understands it.
void seal(const std::filesystem::path& folder);

// Which file is not what psim wrote, and how it differs: "run.db has changed since it was written". Empty
// when all files of the run are as they were sealed.
std::string broken_seal(const std::filesystem::path& folder);

}  // namespace psim::analysis
