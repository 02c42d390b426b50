// The command line of `psim new` and `psim serve`.
#include <fmt/format.h>

#include <regex>

#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/validators.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

// A number, rewritten as TOML needs it: "007" becomes 7, ".5" becomes 0.5.
CLI::Validator number_from(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const auto number = number_in<double>(text);
        if (!number || !(*number >= least && *number <= most))
          return fmt::format("{} is not a number from {} to {}", text, least, most);
        text = fmt::format("{}", *number);
        return "";
      },
      "NUMBER");
}

CLI::Validator bandwidth() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        static const std::regex form("[0-9]+(\\.[0-9]+)?[kMGT]?(bps|Bps)");
        return std::regex_match(text, form) ? "" : text + " is not a bandwidth such as 100Mbps";
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
        fmt::format("{} Default: {}.", one.doc, one.usual));
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
    {"new", groups::simulate, "Write your own commented scenario, from three questions or from options.",
     "  psim new my.toml                                   asks three questions\n"
     "  psim new slow.toml --workers 16 --slowdown 4 --consistency all\n"
     "  psim new crash.toml --crash server --copies 1\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("file", a.made.file, "The new file. It must not exist yet.")
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
       app->add_option("--port", a.serve.port, "The port; 0: any free port.")->check(whole(0, 65535));
       app->add_option("--address", a.serve.address,
                       "The address to listen on; default: 127.0.0.1, which only this machine can reach.")
           ->check(CLI::ValidIPV4);
       app->add_option("--name", a.serve.names,
                       "A further host name for browsers, besides the address and localhost. Repeatable.")
           ->allow_extra_args(false)
           ->check(not_empty("host"));
       app->add_option("-j,--jobs", a.serve.jobs, "Runs at the same time; 0: one per core.")
           ->check(whole(0, 1024));
       app->add_option("--memory", a.serve.memory, "GB of address space that a run may use; default: 2.")
           ->check(CLI::Range(0.1, 1e6));
       app->add_option("--seconds", a.serve.seconds,
                       "Seconds of processor time that a run may use; default: 30.")
           ->check(whole(1, 1'000'000));
     },
     [](const Asked& a) { return serve(a.serve); }},
};

}  // namespace

std::span<const Subcommand> play_subcommands() { return play_table; }

}  // namespace psim::cli
