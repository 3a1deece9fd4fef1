#include "eval/commands.hh"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eval/cellsim_command.hh"
#include "eval/report/report.hh"
#include "eval/run_command.hh"
#include "eval/schemes/registry.hh"
#include "eval/subcommands.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/links.hh"
#include "transport/base/check.hh"
#include "transport/process/command_line.hh"

namespace cress::eval {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-eval run --scheme sprout,cubic --link lte-slow
  cress-eval run --scheme sprout,skype-like --link 3g --video synthetic --out build/3g
  cress-eval run --scheme sprout --down my.down --up my.up --loss 0.05 --json
  cress-eval run --scheme cubic --link lte-fast --queue codel
  cress-eval sweep plan.toml --out build/sweep
  cress-eval reproduce all --out build/reproduction
  cress-eval compare build/before build/after
  cress-eval cellsim --link 3g --peer 'python3 -m http.server' -- curl http://100.64.0.1:8000/
  cress-eval report build/3g)";

std::string typed_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    line += (i == 0 ? "" : " ") + std::string{argv[i]};
  }
  return one_line(line);
}

void list_schemes(std::ostream& out, bool json) {
  std::vector<schemes::SchemeInfo> all{schemes::schemes().begin(), schemes::schemes().end()};
  all.insert(all.end(), schemes::schemes_with_path().begin(), schemes::schemes_with_path().end());
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const schemes::SchemeInfo& info : all) {
      list.push_back({{"name", info.name},
                      {"what", info.what},
                      {"source", info.source},
                      {"saturating", info.saturating},
                      {"call", info.call}});
    }
    out << list.dump(2) << "\n";
    return;
  }
  for (const schemes::SchemeInfo& info : all) {
    out << fmt::format("{:<15} {:<10} {}\n{:<26} ({})\n", info.name,
                       info.saturating ? (info.call ? "flow, call" : "flow") : "call", info.what,
                       "", info.source);
  }
}

void list_links(std::ostream& out, bool json, const std::string& data) {
  const auto links = traces::list_links(data);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& link : links) {
      list.push_back({{"name", link.name}, {"what", link.description}});
    }
    out << list.dump(2) << "\n";
    return;
  }
  for (const auto& link : links) {
    out << fmt::format("{:<26} {}\n", link.name, link.description);
  }
}

void write_report(const std::string& folder, std::ostream& out) {
  const auto html = std::filesystem::path{folder} / "report.html";
  report::write_report(folder, html);
  out << html.string() << "\n";
}

/// All commands: their options, and the actions. Those that fork do so before GStreamer runs, which
/// creates threads.
class Commands {
 public:
  Commands(CLI::App& app, std::ostream& out, std::ostream& err) : app_(app), out_(out), err_(err) {
    app.add_option("--data", data_, "Folder with recorded links")->capture_default_str();
  }

  void add_simulations() {
    add<RunArguments>("run", "Run schemes over one link and score them", add_run_options,
                      [this](RunArguments& run) {
                        run.data = data_;
                        const media::GstRuntime gstreamer;
                        execute_run(run, out_, err_);
                        return 0;
                      })
        ->footer(kExamples);
    add<EncoderArguments>("encoder", "Bench encoders without a network", add_encoder_options,
                          [this](const EncoderArguments& encoder) {
                            const media::GstRuntime gstreamer;
                            execute_encoder(encoder, data_, out_);
                            return 0;
                          });
    add<ReproduceArguments>("reproduce", "Published figures and tables, run again",
                            add_reproduce_options, [this](const ReproduceArguments& reproduce) {
                              execute_reproduce(reproduce, data_, out_);
                              return 0;
                            });
    add<SweepArguments>("sweep", "Run a plan: schemes x links x seeds", add_sweep_options,
                        [this](SweepArguments& sweep) {
                          sweep.data = data_;
                          sweep.is_data_given = app_.count("--data") > 0;
                          return execute_sweep(sweep, out_, err_);
                        });
    add<CompareArguments>(
        "compare", "What got better or worse, A to B", add_compare_options,
        [this](const CompareArguments& compare) { return execute_compare(compare, out_); });
  }
  void add_real_time(const SplitArguments& split, const std::string& typed) {
    add<CellsimArguments>("cellsim", "Any program over a link, in real time", add_cellsim_options,
                          [this, split, typed](CellsimArguments& cellsim) {
                            cellsim.command = split.command;
                            cellsim.typed = typed;
                            return execute_cellsim(cellsim, data_, out_, err_);
                          });
    add<RelayLoadArguments>("relay-load", "A relay under members that send and come and go",
                            add_relay_load_options, [this](const RelayLoadArguments& relay_load) {
                              return execute_relay_load(relay_load, out_, err_);
                            });
  }
  void add_views() {
    add<std::string>(
        "report", "Write DIR/report.html of a run's files",
        [](CLI::App& command, std::string& folder) {
          command.add_option("DIR", folder, "A run's output folder")->required();
        },
        [this](const std::string& folder) {
          write_report(folder, out_);
          return 0;
        });
    const auto add_json = [](CLI::App& command, bool& json) {
      command.add_flag("--json", json, "As JSON");
    };
    add<bool>("schemes", "List the schemes", add_json, [this](bool json) {
      list_schemes(out_, json);
      return 0;
    });
    add<bool>("links", "List embedded and recorded links", add_json, [this](bool json) {
      list_links(out_, json, data_);
      return 0;
    });
  }

  /// After the parsing: the exit code.
  int execute() const {
    const auto typed =
        std::ranges::find_if(actions_, [](const auto& action) { return action.first->parsed(); });
    if (typed == actions_.end()) {
      return 0;
    }
    if (app_.count("--data") > 0) {
      for (const char* blind : {"compare", "relay-load", "report", "schemes"}) {
        if (typed->first->get_name() == blind) {
          throw std::runtime_error(std::string{"--data: "} + blind + " reads no recordings");
        }
      }
      if (!std::filesystem::is_directory(data_)) {
        throw std::runtime_error("--data " + data_ + ": no such folder");
      }
    }
    return typed->second();
  }

 private:
  template <class Arguments, class AddOptions, class Execute>
  CLI::App* add(const char* name, const char* about, AddOptions add_options, Execute execute) {
    CLI::App* const command = app_.add_subcommand(name, about);
    // Shared by the parser, which writes into it, and the action.
    const auto arguments = std::make_shared<Arguments>();
    add_options(*command, *arguments);
    actions_.emplace_back(command, [arguments, execute] { return execute(*arguments); });
    return command;
  }

  CLI::App& app_;
  std::ostream& out_;
  std::ostream& err_;
  std::string data_ = CRESS_DATA;
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions_;
};

}  // namespace

int run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{"Cress's bench: replays links in simulation and scores what the viewer saw."};
  app.footer(kExamples);
  app.set_version_flag("--version", "cress-eval " CRESS_VERSION);
  app.require_subcommand(1);
  const SplitArguments split = split_arguments(argc, argv);
  Commands commands{app, out, err};
  commands.add_simulations();
  commands.add_real_time(split, typed_line(argc, argv));
  commands.add_views();
  return runtime::run_command_line(app, "cress-eval", out, err, [&] {
    runtime::parse(app, {split.own.begin() + 1, split.own.end()});
    return commands.execute();
  });
}

}  // namespace cress::eval
