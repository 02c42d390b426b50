// The files in the folder of a run: their names, how psim recognizes its own folders, and whether files
// changed since psim wrote them.
#pragma once

#include <toml++/toml.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace psim::analysis {

// A page of `psim report` may stand next to the files of a run or a study. It begins with a mark: a file of
// this name without the mark is foreign.
inline constexpr std::string_view page_name = "report.html", show_name = "show.html";
inline constexpr std::string_view page_mark = R"(<meta name="generator" content="psim report">)";
bool bears_page_mark(const std::filesystem::path& path);
bool is_page(const std::filesystem::path& path);  // also checks the name
// "FILE.new-HOST-PROCESS": a process writes the new FILE under this name and then renames it.
inline constexpr std::string_view unfinished = ".new-";
bool is_unfinished(std::string_view name);  // of a process of this machine
// "HOST-PROCESS", with the name of this machine.
bool names_process(std::string_view text);

// Bytes 68 to 71 of run.db, big-endian: "psim".
inline constexpr std::uint32_t application_id = 0x7073696d;

struct Contents {
  bool empty = true;
  std::string foreign;    // a file that psim does not write; empty: none
  bool complete = false;  // has checksums, which are written last
  bool marked = false;    // a file has the mark of psim, so the folder is certainly a run
};

// Throws std::filesystem::filesystem_error if the folder cannot be read.
Contents contents_of(const std::filesystem::path& folder);

// Removes the files of a run and then the folder. Other files stay, and then the folder stays too. Returns
// why a file of the run still exists.
std::error_code remove_run(const std::filesystem::path& folder);

// Writes the file `checksums`: a hash of every other file except the page. `xxhsum -c checksums` checks it.
void seal(const std::filesystem::path& folder);

// The first file that differs from what psim wrote, and how: "run.db has changed since it was written". Empty
// if no file changed.
std::string broken_seal(const std::filesystem::path& folder);

// SHA-256 (FIPS 180-4), as sha256sum writes it.

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

// The only code by which psim removes folders. It never follows a link and never leaves the file system.

// Whether a file may be removed, by its `path` within the folder and its type.
using MayGo = std::function<bool(const std::filesystem::path& path, std::filesystem::file_type type)>;

// Removes the files of `folder` that may go, then empty folders in it, and then the folder if it is empty.
// Returns why a file that may go still exists; no error if other files keep the folder.
std::error_code remove_folder(const std::filesystem::path& folder, const MayGo& may_go);

// Removes `folder` if it is an empty folder, not a link to one. Returns why it still exists.
std::error_code remove_empty(const std::filesystem::path& folder);

// Reads files that psim wrote earlier. They may come from another person, so depth and size are limited.

using Json = nlohmann::ordered_json;

// A discarded value if the text is no JSON, or exceeds the limits of psim (model/base/unicode.hpp).
Json json_in(std::string_view text);
// The same for a file. Throws InputError if the file cannot be read.
Json json_file(const std::filesystem::path& path);

// The text of a scenario file. Throws InputError if the file cannot be read or is too large.
std::string scenario_text(const std::filesystem::path& path);
// The same, parsed. Throws InputError also if the text is not TOML or nests too deeply.
toml::table toml_file(const std::filesystem::path& path);

}  // namespace psim::analysis
