#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "eval/progress.hh"
#include "eval/reproduce/recipes.hh"
#include "eval/run_command.hh"
#include "eval/subcommands.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAll = "all";
constexpr Duration kDurationMin = 4s;

std::vector<const reproduce::Recipe*> recipes_of(const std::vector<std::string>& names) {
  std::vector<const reproduce::Recipe*> chosen;
  const auto choose = [&](const reproduce::Recipe& recipe) {
    if (std::ranges::find(chosen, &recipe) == chosen.end()) {
      chosen.push_back(&recipe);
    }
  };
  for (const std::string& name : names) {
    if (name == kAll) {
      for (const reproduce::Recipe& recipe : reproduce::recipes()) {
        choose(recipe);
      }
    } else {
      choose(reproduce::find_recipe(name));
    }
  }
  return chosen;
}

std::optional<Duration> duration_of(const ReproduceArguments& arguments) {
  if (arguments.duration.empty()) {
    return std::nullopt;
  }
  const Duration duration = parse_duration(arguments.duration, "--duration");
  if (duration < kDurationMin || duration > Duration{24h}) {
    throw std::invalid_argument("--duration " + arguments.duration + ": from 4 s to a day");
  }
  return duration;
}

/// Before the work: checks that the folder is writable.
void prepare(const fs::path& folder) {
  std::error_code trouble;
  fs::create_directories(folder, trouble);
  if (trouble) {
    throw std::runtime_error(folder.string() + ": cannot be made: " + trouble.message());
  }
  const fs::path probe = folder / "probe";
  save_text("", probe);
  fs::remove(probe);
}

}  // namespace

void add_reproduce_options(CLI::App& command, ReproduceArguments& a) {
  std::string names = "Which:\n";
  for (const reproduce::Recipe& recipe : reproduce::recipes()) {
    names += "  " + std::string{recipe.name} + std::string(15 - recipe.name.size(), ' ') +
             std::string{recipe.what} + "\n";
  }
  command.add_option("NAME", a.names, "Figures or tables, or all")->required();
  command.add_option("--out", a.out, "Output folder")->capture_default_str();
  command.add_option("--duration", a.duration,
                     "Length of every run, at most 10 s of it unscored [260s, of 60 unscored; "
                     "Verizon-LTE-short 140s and 10]");
  command.add_option("--seed", a.seed, "Of everything drawn")->capture_default_str();
  command.add_option("--jobs", a.jobs, "Runs at a time [one a core]")->check(CLI::Range(1U, 1024U));
  command.add_flag("--json", a.json, "Print what NAME.json holds instead of the tables");
  command.footer(names + R"(
Examples:
  cress-eval reproduce fig8 intro
  cress-eval reproduce all --out build/reproduction
  cress-eval reproduce fig1 --duration 30s --json)");
}

void execute_reproduce(const ReproduceArguments& arguments, const std::string& data,
                       std::ostream& out) {
  const auto chosen = recipes_of(arguments.names);
  const reproduce::Lab lab = reproduce::make_lab(data, duration_of(arguments), arguments.seed);
  const fs::path folder{arguments.out};
  prepare(folder);
  reproduce::RunBook book{lab};
  for (const reproduce::Recipe* recipe : chosen) {
    recipe->want(lab, book);
  }
  if (book.wanted() > 0) {
    Progress progress{book.wanted()};
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    book.make(arguments.jobs == 0 ? cores : arguments.jobs,
              [&](size_t run, double share) { progress.report(run, share); });
  }
  std::vector<reproduce::Figure> figures;
  std::string list = "[";
  for (const reproduce::Recipe* recipe : chosen) {
    const reproduce::Figure& figure = figures.emplace_back(recipe->make(lab, book));
    save_text(figure_svg(figure), folder / (figure.name + ".svg"));
    save_text(figure_csv(figure), folder / (figure.name + ".csv"));
    const std::string json = figure_json(figure);
    save_text(json, folder / (figure.name + ".json"));
    list.append(figures.size() > 1 ? ",\n" : "\n").append(json, 0, json.size() - 1);
    if (!arguments.json) {
      out << figure_text(figure) << "\n";
    }
  }
  save_text(index_page(figures), folder / "index.html");
  if (arguments.json) {
    out << list << "\n]\n";
  } else {
    out << "page: " << (folder / "index.html").string() << "\n";
  }
}

}  // namespace cress::eval
