#include "traces/commands.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "traces/links.hh"
#include "traces/model_json.hh"
#include "traces/saturate_command.hh"
#include "traces/trace_formats.hh"
#include "traces/trace_plot.hh"
#include "traces/trace_statistics.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"
#include "transport/process/command_line.hh"

namespace cress::traces {
namespace {

constexpr Duration kStepInterval = 200ms;

struct GenerateOptions {
  std::string link;
  std::string model;
  std::optional<std::string> direction{};
  double seconds = to_seconds(kEmbeddedLength);
  std::optional<uint64_t> seed;
  std::string output;
};
struct FitOptions {
  std::string input;
  std::string output;
};
struct StatOptions {
  std::string input;
  std::string plot;
  bool json = false;
};
struct ConvertOptions {
  std::string input;
  std::string output;
  std::string from;
  std::string to;
  std::optional<Duration> interval{};
};

/// A bar that is redrawn in place and removed at the end; silent without a terminal.
class ProgressBar {
 public:
  ProgressBar(const CommandStreams& streams, std::string what)
      : streams_(streams), what_(std::move(what)) {}
  ~ProgressBar() {
    if (drawn_ >= 0) {
      streams_.messages << "\r\033[K" << std::flush;
    }
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(double share) {
    constexpr int kCells = 30;
    const int percent = static_cast<int>(share * 100);
    if (!streams_.progress_bar || percent == drawn_) {
      return;
    }
    drawn_ = percent;
    const auto full = static_cast<size_t>(std::clamp(percent * kCells / 100, 0, kCells));
    streams_.messages << '\r' << what_ << " [" << std::string(full, '#')
                      << std::string(kCells - full, '.') << "] " << percent << " %" << std::flush;
  }

 private:
  const CommandStreams& streams_;
  std::string what_;
  int drawn_ = -1;
};

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

double kbps_of(int64_t opportunities_per_s) {
  return static_cast<double>(opportunities_per_s * sim::kOpportunitySize.bits()) / 1e3;
}

void report_written(const CommandStreams& streams, const std::string& path,
                    const sim::DeliveryTrace& trace) {
  const DataSize total = sim::kOpportunitySize * static_cast<int64_t>(trace.opportunities.size());
  streams.messages << path << ": " << trace.opportunities.size() << " opportunities, "
                   << formatted("%.3f", to_seconds(trace.period())) << " s, "
                   << formatted("%.0f", DataRate::from(total, trace.period()).kilobits_per_second())
                   << " kbit/s\n";
}

void refuse_own_input(const std::string& input, const std::string& output) {
  if (!input.empty() && !output.empty() && is_same_file(input, output)) {
    throw std::runtime_error(output + ": is read too; write to another file");
  }
}

void generate_command(const GenerateOptions& options, const CommandStreams& streams) {
  if (options.link.empty() == options.model.empty()) {
    throw std::runtime_error("generate needs either --link or --model");
  }
  if (!options.model.empty() && options.direction) {
    throw std::runtime_error("--direction: a model file has only one; it goes with --link");
  }
  refuse_own_input(options.model, options.output);
  const Direction direction = options.direction == "up" ? Direction::kUp : Direction::kDown;
  const LinkModelParameters parameters =
      options.model.empty() ? embedded_model(options.link, direction) : load_model(options.model);
  // Without a seed an embedded link is exactly the trace of that name.
  const uint64_t default_seed = options.model.empty() ? embedded_seed(options.link, direction) : 1;
  const Duration length = std::chrono::milliseconds{std::llround(options.seconds * 1e3)};
  ProgressBar bar{streams, "generating"};
  const sim::DeliveryTrace trace = generate(parameters, length, options.seed.value_or(default_seed),
                                            [&bar](double share) { bar.show(share); });
  save_trace_as(trace, options.output, format_of(options.output), kStepInterval);
  bar.show(1);
  report_written(streams, options.output, trace);
}

sim::DeliveryTrace load_any(const std::string& path) {
  return load_trace_as(path, format_of(path));
}

void fit_command(const FitOptions& options, const CommandStreams& streams) {
  refuse_own_input(options.input, options.output);
  const sim::DeliveryTrace trace = load_any(options.input);
  if (trace.opportunities.size() < 2) {
    throw std::runtime_error(options.input +
                             ": a single opportunity says nothing of a link; use a longer trace");
  }
  std::string model;
  {
    ProgressBar bar{streams, "fitting"};
    model = format_model(fit(trace, [&bar](double share) { bar.show(share); }));
  }
  if (options.output.empty()) {
    streams.out << model;
  } else {
    save_text(model, options.output);
  }
}

constexpr std::array kRateQuantiles{0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
constexpr std::array kGapQuantiles{0.5, 0.9, 0.99, 0.999, 1.0};

std::string quantile_name(double q) { return "p" + formatted("%.6g", 100 * q); }

nlohmann::ordered_json statistics_json(const std::string& file, const sim::DeliveryTrace& trace) {
  const TraceStatistics s = statistics(trace);
  nlohmann::ordered_json json;
  json["file"] = file;
  json["opportunities"] = s.opportunities;
  json["length_s"] = to_seconds(s.length);
  json["mean_kbps"] = s.mean_rate.kilobits_per_second();
  const auto counts = opportunities_per_window(trace, 1s);
  for (const double q : kRateQuantiles) {
    json["rate_1s_kbps_" + quantile_name(q)] =
        counts.empty() ? nlohmann::ordered_json{}
                       : nlohmann::ordered_json(kbps_of(quantile(counts, q)));
  }
  json["spread_1s"] = s.spread_1s;
  json["spread_200ms"] = s.spread_200ms;
  json["correlation_time_s"] = to_seconds(s.correlation_time);
  json["outages"] = s.outages;
  json["outage_share"] = s.outage_share;
  json["outage_mean_ms"] = to_milliseconds(s.outage_mean);
  json["outage_longest_ms"] = to_milliseconds(s.outage_longest);
  json["stall_share"] = s.stall_share;
  const auto gaps = interarrivals_ms(trace);
  for (const double q : kGapQuantiles) {
    json["interarrival_ms_" + (q == 1.0 ? "max" : quantile_name(q))] = quantile(gaps, q);
  }
  json["tail_exponent"] =
      s.tail_exponent > 0 ? nlohmann::ordered_json(s.tail_exponent) : nlohmann::ordered_json{};
  json["dispersion_20ms"] = s.dispersion_20ms;
  json["same_millisecond_share"] = s.same_millisecond_share;
  return json;
}

/// Seconds by their rate, in ten classes of equal width up to the highest.
void print_histogram(const sim::DeliveryTrace& trace, std::ostream& out) {
  constexpr size_t kClasses = 10;
  constexpr size_t kBarMax = 50;
  const auto counts = opportunities_per_window(trace, 1s);
  if (counts.empty()) {
    return;
  }
  const int64_t highest = std::max<int64_t>(1, *std::ranges::max_element(counts));
  std::array<size_t, kClasses> seconds{};
  for (const int64_t count : counts) {
    const auto index = static_cast<size_t>(count * static_cast<int64_t>(kClasses) / (highest + 1));
    ++seconds[index];
  }
  const size_t most = *std::ranges::max_element(seconds);
  out << "\n  seconds by their rate (kbit/s)\n";
  for (size_t i = 0; i < kClasses; ++i) {
    const double from = kbps_of(highest + 1) * static_cast<double>(i) / kClasses;
    out << "  " << formatted("%7.0f", from) << " - "
        << formatted("%7.0f", from + kbps_of(highest + 1) / kClasses)
        << formatted("  %6.0f  ", static_cast<double>(seconds[i]))
        << std::string((seconds[i] * kBarMax + most - 1) / most, '#') << '\n';
  }
}

void print_statistics(const std::string& file, const sim::DeliveryTrace& trace, std::ostream& out) {
  const TraceStatistics s = statistics(trace);
  const auto row = [&out](std::string name) -> std::ostream& {
    name.resize(16, ' ');
    return out << "  " << name;
  };
  out << file << '\n';
  row("opportunities") << s.opportunities << " of 1500 bytes\n";
  row("length") << formatted("%.3f s\n", to_seconds(s.length));
  row("mean rate") << formatted("%.0f kbit/s\n", s.mean_rate.kilobits_per_second());
  const auto counts = opportunities_per_window(trace, 1s);
  row("rate per second");
  if (counts.empty()) {
    out << "shorter than a second";
  }
  for (size_t i = 0; i < kRateQuantiles.size() && !counts.empty(); ++i) {
    out << (i > 0 ? ", " : "") << quantile_name(kRateQuantiles[i])
        << formatted(" %.0f", kbps_of(quantile(counts, kRateQuantiles[i])));
  }
  out << (counts.empty() ? "\n" : " kbit/s\n");
  row("wandering") << formatted("spread %.2f of ln(rate per second), ", s.spread_1s)
                   << formatted("remembered for %.1f s\n", to_seconds(s.correlation_time));
  row("outages") << s.outages
                 << formatted(" silences over 200 ms: %.2f %% of the time", 100 * s.outage_share);
  if (s.outages > 0) {
    out << formatted(", mean %.0f ms", to_milliseconds(s.outage_mean))
        << formatted(", longest %.0f ms", to_milliseconds(s.outage_longest));
  }
  out << '\n';
  const auto gaps = interarrivals_ms(trace);
  row("interarrival");
  for (const double q : kGapQuantiles) {
    out << (q == 1.0 ? "max" : quantile_name(q)) << ' ' << quantile(gaps, q)
        << (q == 1.0 ? " ms\n" : ", ");
  }
  row("tail exponent") << (s.tail_exponent > 0
                               ? formatted("%.2f (density t^-k from 20 ms on)\n", s.tail_exponent)
                               : "too few silences of 20 ms and more to tell\n");
  print_histogram(trace, out);
}

void stat_command(const StatOptions& options, const CommandStreams& streams) {
  refuse_own_input(options.input, options.plot);
  const sim::DeliveryTrace trace = load_any(options.input);
  if (!options.plot.empty()) {
    const auto name = std::filesystem::path{options.input}.filename().string();
    save_text(plot_svg(trace, name), options.plot);
  }
  if (options.json) {
    // A file's name may be any bytes; JSON is UTF-8.
    streams.out << statistics_json(options.input, trace)
                       .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                << '\n';
  } else {
    print_statistics(options.input, trace, streams.out);
  }
}

void convert_command(const ConvertOptions& options, const CommandStreams& streams) {
  const TraceFormat from = format_named(options.from).value_or(format_of(options.input));
  const TraceFormat to = format_named(options.to).value_or(format_of(options.output));
  refuse_own_input(options.input, options.output);
  if (options.interval && to != TraceFormat::kSteps) {
    throw std::runtime_error("--interval: only the format steps has steps; add --to steps");
  }
  const sim::DeliveryTrace trace = load_trace_as(options.input, from);
  save_trace_as(
      trace, options.output, to,
      std::chrono::round<std::chrono::milliseconds>(options.interval.value_or(kStepInterval)));
  report_written(streams, options.output, trace);
}

/// CLI::Range without its hole: it lets "nan" through.
CLI::Validator seconds_within(double low, double high) {
  return {[low, high](const std::string& text) {
            double value = 0;
            const bool sound =
                CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return sound ? std::string{}
                         : text + " is not a number of seconds from " + formatted("%g", low) +
                               " to " + formatted("%g", high);
          },
          formatted("[%g", low) + formatted(" - %g]", high), "seconds"};
}

void add_generate(CLI::App& app, GenerateOptions& options) {
  CLI::App* command = app.add_subcommand("generate", "Make a trace from a link model and a seed");
  std::string names;
  for (const EmbeddedLink& link : embedded_links()) {
    names.append(names.empty() ? "" : ", ").append(link.name);
  }
  auto* link = command->add_option("--link", options.link, "Embedded link: " + names);
  command->add_option("--model", options.model, "Model file, as written by `fit`")->excludes(link);
  command->add_option("--direction", options.direction, "Of the embedded link: down or up")
      ->check(CLI::IsMember({"down", "up"}))
      ->default_str("down");
  command->add_option("--seconds", options.seconds, "Length of the trace")
      ->check(seconds_within(0.001, to_seconds(sim::kTraceLengthMax)))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Other numbers, other traces (default: the link's)");
  command->add_option("-o,--output", options.output, "File to write; .csv and .steps choose those")
      ->required();
}

void add_others(CLI::App& app, FitOptions& fit_options, StatOptions& stat_options,
                ConvertOptions& convert_options) {
  CLI::App* fit = app.add_subcommand("fit", "Find the link model that behaves like a trace");
  fit->add_option("FILE", fit_options.input, "Trace to fit")->required();
  fit->add_option("-o,--output", fit_options.output, "Model file (default: standard output)");

  CLI::App* stat = app.add_subcommand("stat", "Tell what a trace is like");
  stat->add_option("FILE", stat_options.input, "Trace to measure")->required();
  stat->add_flag("--json", stat_options.json, "Print one JSON object");
  stat->add_option("--plot", stat_options.plot, "Draw interarrival times and rate into this SVG");

  const std::vector<std::string> formats{"mahimahi", "csv", "steps"};
  CLI::App* convert = app.add_subcommand("convert", "Rewrite a trace in another format");
  convert->add_option("IN", convert_options.input, "Trace to read")->required();
  convert->add_option("OUT", convert_options.output, "File to write")->required();
  convert->add_option("--from", convert_options.from, "mahimahi, csv or steps (default: extension)")
      ->check(CLI::IsMember(formats));
  convert->add_option("--to", convert_options.to, "mahimahi, csv or steps (default: extension)")
      ->check(CLI::IsMember(formats));
  runtime::add_duration(*convert, "--interval", convert_options.interval,
                        "Length of a step, of the format steps [200ms]",
                        {1ms, 1h, "from 1ms to 1h"});
}

constexpr const char* kExamples =
    "Examples:\n"
    "  cress-trace generate --link 3g --direction up --seconds 300 --seed 7 -o 3g.up\n"
    "  cress-trace stat 3g.up --plot 3g.svg\n"
    "  cress-trace fit drive.down -o drive.json\n"
    "  cress-trace generate --model drive.json --seconds 600 -o drive-again.down\n"
    "  cress-trace convert drive.down drive.csv\n"
    "  cress-trace convert rates.txt rates.down --from steps\n"
    "  cress-trace saturate --help\n"
    "\n"
    "Formats: mahimahi, one millisecond a line, each delivering 1500 bytes;\n"
    "csv, rows of time_s,bytes; steps, rows of time_s,kbps that hold until the next.\n"
    "Exit status: 0, or 2 for bad arguments and bad files.\n";

}  // namespace

int run_cress_trace(const std::vector<std::string>& arguments, const CommandStreams& streams) {
  GenerateOptions generate_options;
  FitOptions fit_options;
  StatOptions stat_options;
  ConvertOptions convert_options;
  CLI::App app{"Recorded and modelled links: make, record, fit, measure and convert traces.",
               "cress-trace"};
  app.set_version_flag("--version", "cress-trace " CRESS_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);
  add_generate(app, generate_options);
  add_others(app, fit_options, stat_options, convert_options);
  const SaturateCommand saturate{app};
  return runtime::run_command_line(app, "cress-trace", streams.out, streams.messages, [&] {
    runtime::parse(app, arguments);
    if (app.got_subcommand("generate")) {
      generate_command(generate_options, streams);
    } else if (app.got_subcommand("fit")) {
      fit_command(fit_options, streams);
    } else if (app.got_subcommand("stat")) {
      stat_command(stat_options, streams);
    } else if (app.got_subcommand("saturate")) {
      saturate.run(streams);
    } else {
      convert_command(convert_options, streams);
    }
    return 0;
  });
}

}  // namespace cress::traces
