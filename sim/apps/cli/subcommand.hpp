// A subcommand: its options and the function that answers it.
#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/apps/course/commands.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/calibrate/calibrate.hpp"
#include "sim/study/publish/papers.hpp"

namespace psim::cli {

// psim archive: a complete study as one file, ready to be published.
struct ArchiveCommand : study::Publication {
  std::string study;  // a name, a path or `latest`
  std::string out;    // empty: NAME.tar.gz
  std::vector<std::string> data_dirs;
};

int archive(const ArchiveCommand& asked);

// psim calibrate.
struct CalibrateCommand {
  calibrate::Request request;
  std::string out;                        // the folder
  std::string model_bytes;                // a size such as "100MB"
  std::int64_t workers = 0, servers = 0;  // 0: not given
  bool json = false, force = false;
};

// The options of all subcommands.
struct Asked {
  Command command;
  StudyCommand study;
  FuzzCommand fuzz;
  ShelfCommand shelf;
  ArchiveCommand archive;
  WhyCommand why;
  TimelineCommand timeline;
  ExportCommand exported;
  WhatIfCommand what_if;
  LabCommand lab;
  GradeCommand grade;
  NewCommand made;
  ServeCommand serve;
  CalibrateCommand calibrate;
  bool bibtex = false, sliders = false;
  std::string directory;
  std::vector<std::string> words;
  bool reference = false;
};

// The groups of commands in `psim --help`.
namespace groups {
constexpr const char* simulate = "Simulate";
constexpr const char* understand = "Understand a run";
constexpr const char* keep = "Keep, repeat and publish";
constexpr const char* learn = "Learn and teach";
constexpr const char* examine = "Examine psim itself";
}  // namespace groups

struct Subcommand {
  const char *name, *group, *description, *examples;
  void (*add_options)(CLI::App*, Asked&);
  int (*answer)(const Asked&);
};

// The text of `psim explain` on a subcommand; empty if none has this name.
std::string about_subcommand(std::string_view name);

// The subcommands for finished runs.
std::span<const Subcommand> understand_subcommands();
// psim calibrate.
std::span<const Subcommand> calibrate_subcommands();
// The subcommands of the course.
std::span<const Subcommand> lab_subcommands();
// `psim new` and the playground.
std::span<const Subcommand> play_subcommands();

// `name`: the name of a study or a scenario; empty: psim alone.
int cite(const std::string& name, const Command& asked, bool as_bibtex);

}  // namespace psim::cli
