#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <set>
#include <stdexcept>
#include <utility>

#include "eval/encoder/bench.hh"
#include "eval/encoder/ivf_video.hh"
#include "eval/encoder/outputs.hh"
#include "eval/progress.hh"
#include "eval/subcommands.hh"
#include "media/gst/gst_file_source.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

namespace bench = encoder_bench;

constexpr const char* kExamples = R"(Examples:
  cress-eval encoder --encoder cress,cbr --budget walk:150,2500
  cress-eval encoder --video call.y4m --encoder cress,cbr,cbr-drop --budget step:300,1500,5s --out build/step
  cress-eval encoder --video talk.mp4 --budget link:lte-slow --budget trace:drive.down --cpu-used -8,-4
  cress-eval encoder --encoder cress,quantizer --rd --rates 150,300,600,1200 --quantizers 20,30,40,50
  cress-eval encoder --encoder quantizer --quantizers 30 --size 320x180,640x360 --save-ivf --json)";

constexpr const char* kAnchor = "cbr";
constexpr const char* kDefaultBudget = "constant:600";
constexpr int64_t kPictureMin = 16;
constexpr uint64_t kFramesMax = 1'000'000;
constexpr size_t kCellsMax = 1000;
constexpr int kRateMax = 120;

struct Size {
  int width = 0;
  int height = 0;
};

Size parse_size(const std::string& text) {
  Size size;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &size.width, &size.height, &rest) != 2 ||
      size.width < kPictureMin || size.height < kPictureMin ||
      size.width > media::kSyntheticCameraSideMax || size.height > media::kSyntheticCameraSideMax) {
    throw std::invalid_argument("--size " + text + ": not WIDTHxHEIGHT of 16 to 4096, as 640x360");
  }
  return size;
}

std::unique_ptr<media::VideoSource> synthetic_camera(const std::string& text, uint64_t seed) {
  media::SyntheticCameraOptions options{.seed = seed};
  if (text != "synthetic") {
    int rate = 30;
    char rest = 0;
    if (std::sscanf(text.c_str(), "synthetic:%dx%d@%d%c", &options.width, &options.height, &rate,
                    &rest) != 3 ||
        options.width < kPictureMin || options.height < kPictureMin ||
        options.width > media::kSyntheticCameraSideMax ||
        options.height > media::kSyntheticCameraSideMax || rate < 1 || rate > kRateMax) {
      throw std::invalid_argument("--video " + text +
                                  ": not synthetic:WIDTHxHEIGHT@RATE, as in synthetic:640x360@30");
    }
    options.frame_rate = {.numerator = rate, .denominator = 1};
  }
  return std::make_unique<media::SyntheticCamera>(options);
}

std::unique_ptr<media::VideoSource> open_clip(const std::string& video, uint64_t seed) {
  if (video == "synthetic" || video.starts_with("synthetic:")) {
    return synthetic_camera(video, seed);
  }
  std::unique_ptr<media::VideoSource> clip;
  if (bench::is_vp8_ivf(video)) {
    clip = std::make_unique<bench::IvfVideo>(video);
  } else {
    clip = media::open_video(video);
  }
  if (clip->width() < kPictureMin || clip->height() < kPictureMin) {
    throw std::runtime_error(video + ": pictures under 16x16");
  }
  return clip;
}

template <class Value>
void refuse_repeats(const std::vector<Value>& values, const char* option) {
  std::set<Value> seen;
  for (const Value& value : values) {
    if (!seen.insert(value).second) {
      throw std::invalid_argument(fmt::format("{} {}: named twice", option, value));
    }
  }
}

void check_ranges(const EncoderArguments& a) {
  for (const int cpu_used : a.cpu_used) {
    if (cpu_used < -16 || cpu_used > -1) {
      throw std::invalid_argument(
          fmt::format("--cpu-used {}: -16 (fastest) to -1 (best)", cpu_used));
    }
  }
  for (const int quantizer : a.quantizers) {
    if (quantizer < 0 || quantizer > 63) {
      throw std::invalid_argument(
          fmt::format("--quantizers {}: 0 (finest) to 63 (coarsest)", quantizer));
    }
  }
  for (const int64_t rate : a.rates) {
    if (rate < 1 || rate > bench::kBudgetKbpsMax) {
      throw std::invalid_argument(
          fmt::format("--rates {}: 1 to {} kbit/s", rate, bench::kBudgetKbpsMax));
    }
  }
  if (a.frames < 1 || a.frames > kFramesMax) {
    throw std::invalid_argument(fmt::format("--frames {}: 1 to {}", a.frames, kFramesMax));
  }
  if (a.skip >= a.frames) {
    throw std::invalid_argument("--skip must be less than --frames: nothing would be scored");
  }
}

/// Budgets with the rates of a rate-distortion run as constants.
std::vector<std::string> budgets_of(const EncoderArguments& a) {
  if (!a.rate_distortion) {
    if (!a.rates.empty()) {
      throw std::invalid_argument("--rates goes with --rd; one rate is --budget constant:RATE");
    }
    return a.budgets.empty() ? std::vector<std::string>{kDefaultBudget} : a.budgets;
  }
  if (!a.budgets.empty()) {
    throw std::invalid_argument("--rd takes its budgets from --rates: leave --budget away");
  }
  std::vector<std::string> budgets;
  for (const int64_t rate : a.rates.empty() ? std::vector<int64_t>{150, 300, 600, 1200} : a.rates) {
    budgets.push_back(fmt::format("constant:{}", rate));
  }
  if (budgets.size() < 2) {
    throw std::invalid_argument("--rates: a curve takes at least two, better four");
  }
  return budgets;
}

std::vector<std::string> encoders_of(const EncoderArguments& a) {
  std::vector<std::string> encoders = a.encoders;
  if (a.rate_distortion && std::ranges::find(encoders, kAnchor) == encoders.end()) {
    encoders.emplace_back(kAnchor);
  }
  for (const std::string& encoder : encoders) {
    static_cast<void>(bench::make_encoder(encoder, {}));
  }
  refuse_repeats(encoders, "--encoder");
  if (a.quantizers_given && std::ranges::find(encoders, "quantizer") == encoders.end()) {
    throw std::invalid_argument("--quantizers: only of the encoder quantizer; add it to --encoder");
  }
  return encoders;
}

/// The newest opened clip is kept: most commands have only one.
class Clips {
 public:
  explicit Clips(const EncoderArguments& arguments) : arguments_(arguments) {}
  media::VideoSource& at(size_t index) {
    if (!clip_ || index_ != index) {
      clip_.reset();
      clip_ = open_clip(arguments_.videos[index], arguments_.seed);
      index_ = index;
    }
    return *clip_;
  }

 private:
  const EncoderArguments& arguments_;
  std::unique_ptr<media::VideoSource> clip_;
  size_t index_ = 0;
};

struct PlannedCell {
  size_t clip = 0;
  std::string budget;  ///< as typed
  bench::CellSpec spec;
};

/// Budgets as reports name them: files without their folders, unless two would have the same name.
std::string budget_label(const std::string& text, const std::vector<std::string>& all) {
  const auto short_of = [](const std::string& budget) {
    const bool is_file = budget.starts_with("trace:") || budget.starts_with("csv:");
    const size_t path = budget.find(':') + 1;
    return is_file ? budget.substr(0, path) +
                         std::filesystem::path{budget.substr(path)}.filename().string()
                   : budget;
  };
  const std::string label = short_of(text);
  return std::ranges::count(all, label, short_of) > 1 ? text : label;
}

/// The cells of one clip, size, effort and budget.
void plan_encoders(const EncoderArguments& a, bool first_budget, PlannedCell cell,
                   std::vector<PlannedCell>& cells) {
  for (const std::string& encoder : encoders_of(a)) {
    cell.spec.encoder = encoder;
    if (encoder != "quantizer") {
      cells.push_back(cell);
      continue;
    }
    PlannedCell blind = cell;
    if (a.rate_distortion) {
      if (!first_budget) {
        continue;  // its points come from its quantizers: one set is enough
      }
      blind.budget = blind.spec.budget = "none";
    }
    for (const int quantizer : a.quantizers) {
      blind.spec.quantizer = quantizer;
      cells.push_back(blind);
    }
  }
}

/// All cells of one clip.
std::vector<PlannedCell> plan_clip(const EncoderArguments& a, size_t clip,
                                   const media::VideoSource& video) {
  std::vector<Size> sizes;
  sizes.reserve(a.sizes.size() + 1);
  for (const std::string& text : a.sizes) {
    sizes.push_back(parse_size(text));
  }
  if (sizes.empty()) {
    sizes.push_back({video.width(), video.height()});
  }
  PlannedCell cell;
  cell.clip = clip;
  cell.spec.video = video.description();
  cell.spec.frames = a.frames;
  cell.spec.skip = a.skip;
  cell.spec.seed = a.seed;
  const std::vector<std::string> budgets = budgets_of(a);
  std::vector<PlannedCell> cells;
  for (const Size& size : sizes) {
    cell.spec.width = size.width;
    cell.spec.height = size.height;
    for (const int cpu_used : a.cpu_used) {
      cell.spec.cpu_used = cpu_used;
      for (const std::string& budget : budgets) {
        cell.budget = budget;
        cell.spec.budget = budget_label(budget, budgets);
        plan_encoders(a, budget == budgets.front(), cell, cells);
      }
    }
  }
  return cells;
}

/// Two clips with the same description are named as typed.
void tell_apart(const EncoderArguments& a, std::vector<std::vector<PlannedCell>>& by_clip) {
  std::vector<std::string> names;
  names.reserve(by_clip.size());
  for (const std::vector<PlannedCell>& cells : by_clip) {
    names.push_back(cells.front().spec.video);
  }
  for (std::vector<PlannedCell>& cells : by_clip) {
    const bool alike = std::ranges::count(names, cells.front().spec.video) > 1;
    for (PlannedCell& cell : cells) {
      cell.spec.video = alike ? a.videos[cell.clip] : cell.spec.video;
    }
  }
}

bench::BudgetContext budget_context(const EncoderArguments& a, const media::VideoSource& video,
                                    const std::string& data) {
  return {.frames = a.frames, .frame_rate = video.frame_rate(), .seed = a.seed, .data = data};
}

/// Opens and parses everything once, so that errors are reported before any work.
std::vector<PlannedCell> plan(const EncoderArguments& a, const std::string& data, Clips& clips) {
  check_ranges(a);
  refuse_repeats(a.videos, "--video");
  refuse_repeats(a.sizes, "--size");
  refuse_repeats(a.cpu_used, "--cpu-used");
  refuse_repeats(a.quantizers, "--quantizers");
  refuse_repeats(a.rates, "--rates");
  refuse_repeats(a.budgets, "--budget");
  static_cast<void>(encoders_of(a));
  std::vector<std::vector<PlannedCell>> by_clip(a.videos.size());
  size_t count = 0;
  for (size_t i = a.videos.size(); i > 0; --i) {  // the first one last: it is needed first
    const media::VideoSource& video = clips.at(i - 1);
    for (const std::string& budget : budgets_of(a)) {
      static_cast<void>(bench::make_budgets(budget, budget_context(a, video, data)));
    }
    by_clip[i - 1] = plan_clip(a, i - 1, video);
    count += by_clip[i - 1].size();
  }
  tell_apart(a, by_clip);
  if (count > kCellsMax) {
    throw std::invalid_argument(fmt::format("{} cells: more than {}", count, kCellsMax));
  }
  std::vector<PlannedCell> cells;
  for (std::vector<PlannedCell>& more : by_clip) {
    cells.insert(cells.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  return cells;
}

Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

void run_cells(const EncoderArguments& a, const std::string& data,
               const std::vector<PlannedCell>& cells, Clips& clips, bench::OutputFolder& folder) {
  Progress progress{cells.size()};
  for (size_t i = 0; i < cells.size(); ++i) {
    const bench::CellSpec& spec = cells[i].spec;
    media::VideoSource& video = clips.at(cells[i].clip);
    bench::CellContext context;
    context.budgets = bench::make_budgets(cells[i].budget, budget_context(a, video, data));
    context.stopwatch = steady_now;
    context.progress = [&](double share) { progress.report(i, share); };
    const std::filesystem::path name = folder.path() / bench::file_name(i, spec);
    if (a.save_ivf) {
      context.ivf = name.string() + ".ivf";
    }
    if (a.save_y4m) {
      context.y4m = name.string() + ".y4m";
    }
    folder.add(bench::run_cell(spec, video, context));
  }
}

}  // namespace

void add_encoder_options(CLI::App& command, EncoderArguments& a) {
  std::string names = "Encoders, separated by commas:";
  for (const bench::EncoderInfo& info : bench::encoders()) {
    names += fmt::format("\n{}: {}", info.name, info.what);
  }
  command
      .add_option("--video", a.videos,
                  "A .y4m, a VP8 .ivf, any file GStreamer decodes, or synthetic[:640x360@30]; "
                  "repeat it for more clips")
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--encoder", a.encoders, names)->delimiter(',')->capture_default_str();
  command
      .add_option("--budget", a.budgets,
                  "Bytes each frame may cost, rates in kbit/s: constant:600 | step:300,1500,5s | "
                  "walk:150,2500 | trace:FILE (Mahimahi) | link:NAME[.up] | csv:FILE | none; "
                  "repeat it for more [constant:600]")
      ->allow_extra_args(false);
  command
      .add_option("--size", a.sizes,
                  "Sizes at which encoders work, WxH, separated by commas; pictures are scaled to "
                  "it and scored at the clip's size [the clip's]")
      ->delimiter(',');
  command.add_option("--cpu-used", a.cpu_used, "libvpx's effort, -16 fastest to -1 best")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--quantizers", a.quantizers, "Of the encoder quantizer, 0 finest to 63")
      ->delimiter(',')
      ->capture_default_str()
      ->each([&a](const std::string&) { a.quantizers_given = true; });
  command.add_flag("--rd", a.rate_distortion,
                   "Rate-distortion curves over --rates, with BD-rates against cbr");
  command.add_option("--rates", a.rates, "Constant budgets of --rd in kbit/s [150,300,600,1200]")
      ->delimiter(',');
  command.add_option("--frames", a.frames, "Pictures a cell; clips are looped")
      ->capture_default_str();
  command.add_option("--skip", a.skip, "Pictures coded at the start that are not scored")
      ->capture_default_str();
  command.add_option("--seed", a.seed, "Of walks and of the synthetic camera")
      ->capture_default_str();
  command.add_option("--out", a.out, "Output folder")->capture_default_str();
  command.add_flag("--save-ivf", a.save_ivf, "Write each cell's coded frames, too");
  command.add_flag("--save-y4m", a.save_y4m, "Write what each cell's viewer saw, too");
  command.add_flag("--json", a.json, "Print results.json (with --rd: bd_rate.json) and no table");
  command.add_flag("--no-report", a.no_report, "Do not write report.html");
  command.footer(kExamples);
}

void execute_encoder(const EncoderArguments& arguments, const std::string& data,
                     std::ostream& out) {
  Clips clips{arguments};
  const std::vector<PlannedCell> cells = plan(arguments, data, clips);
  bench::OutputFolder folder{arguments.out};
  run_cells(arguments, data, cells, clips, folder);
  std::vector<bench::BdRate> bd;
  if (arguments.rate_distortion) {
    bd = bench::bd_rates(folder.cells(), kAnchor);
    save_text(bench::bd_json(bd), folder.path() / "bd_rate.json");
  }
  const std::filesystem::path html = folder.path() / "report.html";
  if (!arguments.no_report) {
    save_text(bench::report_page(folder.cells(), arguments.rate_distortion, bd), html);
  }
  if (arguments.json) {
    out << (arguments.rate_distortion ? bench::bd_json(bd) : bench::results_json(folder.cells()));
    return;
  }
  out << bench::results_table(folder.cells()) << bench::bd_table(bd);
  if (!arguments.no_report) {
    out << "report: " << html.string() << "\n";
  }
}

}  // namespace cress::eval
