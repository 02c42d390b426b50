// What a subcommand is: its options, and what answers it.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/cli/archive.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/apps/course/commands.hpp"
#include "sim/apps/playground/commands.hpp"

namespace psim::cli {

// What the command line asks for.
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
  bool bibtex = false, sliders = false;
  std::string directory;
  std::vector<std::string> words;
  bool reference = false;
};

// What commands are for; `psim --help` lists them so.
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

// What `psim explain` says of a subcommand; empty where none is called so.
std::string about_subcommand(std::string_view name);

// Those that look at runs that are finished.
std::span<const Subcommand> understand_subcommands();
// Those of the course.
std::span<const Subcommand> lab_subcommands();
// The first scenario, and the playground.
std::span<const Subcommand> play_subcommands();

}  // namespace psim::cli
