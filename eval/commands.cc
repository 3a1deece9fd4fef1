#include "eval/commands.hh"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <nlohmann/json.hpp>
#include <ostream>

#include "eval/encoder_command.hh"
#include "eval/report/report.hh"
#include "eval/run_command.hh"
#include "eval/schemes/registry.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/links.hh"

namespace cress::eval {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-eval run --scheme sprout,cubic --link lte-slow
  cress-eval run --scheme sprout,skype-like --link 3g --video synthetic --out build/3g
  cress-eval run --scheme sprout --down my.down --up my.up --loss 0.05 --json
  cress-eval run --scheme cubic --link lte-fast --queue codel
  cress-eval report build/3g)";

/// "What it was; what to do" without the library's own second line.
std::string one_line(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  return text;
}

void list_schemes(std::ostream& out, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const schemes::SchemeInfo& info : schemes::schemes()) {
      list.push_back({{"name", info.name},
                      {"what", info.what},
                      {"source", info.source},
                      {"saturating", info.saturating},
                      {"call", info.call}});
    }
    out << list.dump(2) << "\n";
    return;
  }
  for (const schemes::SchemeInfo& info : schemes::schemes()) {
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

}  // namespace

int run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{"Cress's bench: replays links in simulation and scores what the viewer saw."};
  app.footer(kExamples);
  app.set_version_flag("--version", "cress-eval " CRESS_VERSION);
  app.require_subcommand(1);
  RunArguments run;
  run.data = CRESS_DATA;
  app.add_option("--data", run.data, "Folder with recorded links")->capture_default_str();
  CLI::App* run_command = app.add_subcommand("run", "Run schemes over one link and score them");
  run_command->footer(kExamples);
  add_run_options(*run_command, run);
  EncoderArguments encoder;
  CLI::App* encoder_command = app.add_subcommand("encoder", "Bench encoders without a network");
  add_encoder_options(*encoder_command, encoder);
  std::string report_folder;
  CLI::App* report_command = app.add_subcommand("report", "Write DIR/report.html of a run's files");
  report_command->add_option("DIR", report_folder, "A run's output folder")->required();
  bool json = false;
  CLI::App* schemes_command = app.add_subcommand("schemes", "List the schemes");
  CLI::App* links_command = app.add_subcommand("links", "List embedded and recorded links");
  for (CLI::App* command : {schemes_command, links_command}) {
    command->add_flag("--json", json, "As JSON");
  }
  try {
    app.parse(argc, argv);
    const media::GstRuntime gstreamer;
    if (run_command->parsed()) {
      execute_run(run, out);
    } else if (encoder_command->parsed()) {
      execute_encoder(encoder, run.data, out);
    } else if (report_command->parsed()) {
      const auto html = std::filesystem::path{report_folder} / "report.html";
      report::write_report(report_folder, html);
      out << html.string() << "\n";
    } else if (schemes_command->parsed()) {
      list_schemes(out, json);
    } else {
      list_links(out, json, run.data);
    }
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error, out, err);  // --help, --version
    }
    const bool unknown_command = app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
    err << "cress-eval: "
        << (unknown_command ? "unknown command " + std::string{argv[1]} : one_line(error.what()))
        << "; see cress-eval --help\n";
    return 2;
  } catch (const std::exception& error) {
    err << "cress-eval: " << one_line(error.what()) << "\n";
    return 2;
  }
  return 0;
}

}  // namespace cress::eval
