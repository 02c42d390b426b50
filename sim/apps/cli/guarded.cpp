#include "sim/apps/cli/guarded.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "analysis/run_record.hpp"
#include "model/input.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/talk.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/interrupt.hpp"

namespace psim::cli {
namespace {

// The message for an answer that stdout does not take.
std::string lost_answer(int error) {
  return error == EBADF ? "stdout is closed: the answer cannot be written"
                        : fmt::format("the answer cannot be written to stdout: {}", std::strerror(error));
}

struct Told {
  int code;
  std::string text;
};

Told refused(std::string_view what, std::string_view help) { return {bad_input, refusal_text(what, help)}; }
Told failed(std::string_view what) { return {our_fault, fmt::format("error: {}\n", what)}; }

Told told(const std::filesystem::filesystem_error& error) {
  const std::string what = fmt::format("{}: {}", error.path1().string(), error.code().message());
  const std::string text = refusal_text(what, help_of(error.code(), error.path1()));
  return {is_machines(error.code()) ? our_fault : bad_input, text};
}

// Of the exception that is being handled.
Told told() {
  try {
    throw;
  } catch (const Invalid& input) {
    return {bad_input, input.text};
  } catch (const Refused& refusal) {
    return refused(refusal.what(), refusal.help);
  } catch (const analysis::Unverifiable& nothing) {
    return refused(nothing.what(), nothing.help);
  } catch (const DamagedRun& damage) {
    return refused(damage.what(), "it is damaged, or not from this program: run the scenario again");
  } catch (const psim::InputError& error) {
    return refused(error.what(), error.help);
  } catch (const analysis::Json::exception& error) {
    return refused(fmt::format("a file of a run or a study does not have what psim writes: {}", error.what()),
                   "it is damaged, or not from this program: make the run or the study again");
  } catch (const std::filesystem::filesystem_error& error) {
    return told(error);
  } catch (const std::system_error& error) {
    const bool of_stdout = std::string_view(error.what()).starts_with("cannot write to file");  // fmt::print
    return failed(of_stdout ? lost_answer(error.code().value()) : error.what());
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace

int guarded(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error(lost_answer(errno));
    return code;
  } catch (const Interrupted& interrupt) {
    say("{}{}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", interrupt.message);
    return 128 + interrupt.signal;
  } catch (...) {
    const Told error = told();
    say_text(error.text);
    return error.code;
  }
}

RunAnswer guarded_answer(const std::function<RunAnswer()>& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const NoRoom& room) {
    return {.status = RunStatus::no_memory, .why = room.text};
  } catch (...) {
    const Told error = told();
    return {.status = error.code == bad_input ? RunStatus::refused : RunStatus::failed, .why = error.text};
  }
}

}  // namespace psim::cli
