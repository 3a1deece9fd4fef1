#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/duration_text.hh"
#include "transport/base/text.hh"

/// What the command lines of all our programs have in common, so that each refuses the same wrong
/// arguments in the same words: one line on standard error, exit code 2.
namespace cress::runtime {

struct DurationRange {
  Duration low{};
  Duration high{};
  const char* words = "";  ///< "from 1s to 24h"
};

/// An option whose value is a time with its unit, within `range`.
inline CLI::Option* add_duration(CLI::App& command, const std::string& name,
                                 std::optional<Duration>& into, const std::string& about,
                                 const DurationRange& range) {
  return command
      .add_option_function<std::string>(
          name,
          [name, &into, range](const std::string& text) {
            const auto duration = parse_duration(text);
            if (!duration) {
              throw std::runtime_error(name + " " + text + ": " + std::string{kDurationForm});
            }
            if (*duration < range.low || *duration > range.high) {
              throw std::runtime_error(name + " " + text + ": not " + range.words);
            }
            into = *duration;
          },
          about)
      ->type_name("TIME");
}

/// What is wrong with `text` as a value of `option`, if its type is a number; empty: nothing. CLI11
/// alone wraps -1 to 2⁶⁴ - 1 and reads "nan", "0x10" and "inf".
inline std::string number_trouble(const CLI::Option& option, const std::string& text) {
  const std::string type = option.get_type_name();
  if (type.starts_with("UINT") && !parse_number<uint64_t>(text)) {
    return "not a whole number from 0 to 2^64 - 1";
  }
  if (type.starts_with("INT") && !parse_number<int64_t>(text)) {
    return "not a whole number";
  }
  const auto real = type.starts_with("FLOAT") ? parse_number<double>(text) : std::optional{0.0};
  if (!real || !(*real >= -1e300 && *real <= 1e300)) {
    return text.ends_with('%') ? "not a number; 5 % is written 0.05" : "not a number";
  }
  return "";
}

/// Adds the checks that CLI11 lacks, to `command` and the commands below: numbers are numbers, and
/// no value is empty unless the option may be given without one or is one of `may_be_empty`.
/// Options of a program may also follow its command.
inline void make_strict(CLI::App& command, const std::vector<std::string>& may_be_empty) {
  for (CLI::Option* option : command.get_options()) {
    const bool may_lack = option->get_items_expected_min() == 0;
    const bool may_empty =
        std::ranges::find(may_be_empty, option->get_name()) != may_be_empty.end();
    const auto check = [option, may_lack, may_empty](const std::string& text) {
      std::string trouble = text.empty() ? "" : number_trouble(*option, text);
      if (text.empty() && !may_lack && !may_empty) {
        trouble = "empty";
      }
      if (!trouble.empty()) {
        const std::string value = text.empty() ? "" : " ";
        throw std::runtime_error(option->get_name().append(value + text).append(": " + trouble));
      }
      return text;
    };
    // Before CLI11's own checks.
    option->transform(std::function<std::string(std::string)>{check});
  }
  for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    below->fallthrough();
    make_strict(*below, may_be_empty);
  }
}

/// Null: no command has this name.
inline const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto named = app.get_subcommands([&](const CLI::App* a) { return a->get_name() == name; });
  return named.empty() ? nullptr : named.front();
}

/// CLI11 itself would only say that a command is missing.
inline void require_known_command(const CLI::App& app, const std::string& first) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto options = app.get_options();
  const bool takes_others = std::ranges::any_of(
      options, [](const CLI::Option* option) { return option->get_positional(); });
  if (first.empty() || first.front() == '-' || commands.empty() || takes_others) {
    return;
  }
  if (find_command(app, first) != nullptr) {
    return;
  }
  std::string known;
  for (const CLI::App* command : commands) {
    known.append(known.empty() ? "" : ", ").append(command->get_name());
  }
  throw std::runtime_error("no command \"" + first + "\"; there are " + known);
}

/// Parses `arguments` (without the program's name) with all checks. Throws CLI::ParseError or
/// std::runtime_error with one clear line.
inline void parse(CLI::App& app, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& may_be_empty = {}) {
  make_strict(app, may_be_empty);
  require_known_command(app, arguments.empty() ? "" : arguments.front());
  try {
    // CLI11 takes a vector back to front.
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
  } catch (const CLI::RequiredError&) {
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (const CLI::App* const command = find_command(app, arguments[i])) {
        require_known_command(*command, arguments[i + 1]);
      }
    }
    throw;
  }
}

/// Throws std::runtime_error if `option` was given, but has no effect because of `why`.
inline void refuse_given(const CLI::App& app, std::initializer_list<const char*> options,
                         const std::string& why) {
  for (const char* option : options) {
    if (app.count(option) > 0) {
      throw std::runtime_error(std::string{option} + ": " + why);
    }
  }
}

/// How every program of ours begins and ends: `execute` parses by `app`, does what was asked and
/// gives the exit code. --help and --version are printed; what is wrong is one line on `err`,
/// "PROGRAM: what", and gives 2. So does an `out` that could not be written, unless another code
/// says more.
template <class Execute>
int run_command_line(CLI::App& app, const std::string& program, std::ostream& out,
                     std::ostream& err, const Execute& execute) {
  app.name(program);
  int code = 0;
  try {
    code = execute();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      err << program << ": " << one_line(error.what()) << "; see " << program << " --help\n";
      return 2;
    }
    app.exit(error, out, err);  // --help, --version
  } catch (const std::exception& error) {
    err << program << ": " << one_line(error.what()) << "\n";
    return 2;
  }
  if (!out.flush()) {
    err << program << ": standard output cannot be written\n";
    return code == 0 ? 2 : code;
  }
  return code;
}

}  // namespace cress::runtime
