// The command line of `psim new` and `psim serve`.
#include <fmt/format.h>

#include <regex>

#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/validators.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/scenario/text/number_in.hpp"

namespace psim::cli {
namespace {

// Rewritten as TOML has it: "007" is 7, ".5" is 0.5.
CLI::Validator number_from(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const auto number = number_in<double>(text);
        if (!number || !(*number >= least && *number <= most))
          return fmt::format("{} is no number from {} to {}", text, least, most);
        text = fmt::format("{}", *number);
        return "";
      },
      "NUMBER");
}

CLI::Validator bandwidth() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        static const std::regex form("[0-9]+(\\.[0-9]+)?[kMGT]?(bps|Bps)");
        return std::regex_match(text, form) ? "" : text + " is no bandwidth such as 100Mbps";
      },
      "BANDWIDTH");
}

void add_settings(CLI::App* app, Sketch& sketch) {
  for (const SketchSetting& one : settings()) {
    const std::string name = one.name;
    std::vector<std::string> words = one.values;
    if (name == "consistency") words.emplace_back("all");
    CLI::Option* option = app->add_option_function<std::string>(
        "--" + name, [&sketch, name](const std::string& value) { sketch[name] = value; },
        fmt::format("{} {} if not given.", one.doc, one.usual));
    if (name == "consistency" || name == "crash") option->check(one_of(words));
    else if (name == "bandwidth") option->check(bandwidth());
    else if (name == "slowdown") option->transform(number_from(1, 1e6));
    else if (name == "rate") option->transform(number_from(1e-9, 1e9));
    else
      option->check(whole(name == "workers" || name == "servers" ? 1 : 0, 10'000))
          ->transform(number_from(0, 1e9));
  }
}

constexpr Subcommand play_table[] = {
    {"new", groups::simulate,
     "Write a scenario of your own, commented, from three questions or from options.",
     "  psim new my.toml                                   asks three questions\n"
     "  psim new slow.toml --workers 16 --slowdown 4 --consistency all\n"
     "  psim new crash.toml --crash server --copies 1\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("file", a.made.file, "The file; it must not be there yet.")
           ->required()
           ->check(not_empty("file"));
       add_settings(app, a.made.sketch);
     },
     [](const Asked& a) { return make_new(a.made); }},
    {"serve", groups::learn,
     "The playground: a page in your browser whose sliders change a scenario that runs at once.",
     "  psim serve                                         then open the address that it prints\n"
     "  psim serve --port 8080\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("--port", a.serve.port, "The port; 0 means one that is free.")->check(whole(0, 65535));
       app->add_option("--address", a.serve.address,
                       "The address to listen at; 127.0.0.1 if not given: this machine only.")
           ->check(CLI::ValidIPV4);
       app->add_option(
              "--name", a.serve.names,
              "A name under which browsers may ask, beside the address and localhost. May be repeated.")
           ->allow_extra_args(false)
           ->check(not_empty("host"));
       app->add_option("-j,--jobs", a.serve.jobs, "Runs at once; 0 means one per core.")
           ->check(whole(0, 1024));
       app->add_option("--memory", a.serve.memory, "GB of address space that a run may use; 2 if not given.")
           ->check(CLI::Range(0.1, 1e6));
       app->add_option("--seconds", a.serve.seconds,
                       "Seconds of a processor's time that a run may use; 30 if not given.")
           ->check(whole(1, 1'000'000));
     },
     [](const Asked& a) { return serve(a.serve); }},
};

}  // namespace

std::span<const Subcommand> play_subcommands() { return play_table; }

}  // namespace psim::cli
