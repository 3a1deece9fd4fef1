#include "eval/run_command.hh"

#include <algorithm>
#include <cmath>
#include <future>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eval/experiment.hh"
#include "eval/first_error.hh"
#include "eval/harness/cross_traffic.hh"
#include "eval/harness/outputs.hh"
#include "eval/progress.hh"
#include "eval/report/report.hh"
#include "eval/run_films.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/recent_pictures.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/links.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

constexpr Duration kDurationMax = 24h;
constexpr Duration kDefaultDurationMax = 300s;
// docs/method.md: the first minute is not scored, of a short trace the first ten seconds.
constexpr Duration kShortTrace = 200s;
constexpr Duration kSkipLong = 60s;
constexpr Duration kSkipShort = 10s;

/// The path's other properties: propagation, loss, queue.
void set_path(const RunArguments& arguments, harness::LinkSpec& link) {
  link.delay = parse_duration(arguments.delay, "--delay");
  if (link.delay > 10s) {
    throw std::invalid_argument("--delay " + arguments.delay + ": more than 10 s");
  }
  if (!(arguments.loss >= 0 && arguments.loss < 1)) {
    throw std::invalid_argument("--loss: a probability, 0 <= P < 1 (5 % is 0.05)");
  }
  link.loss = arguments.loss;
  // Without an option, what the link itself does.
  if (!arguments.queue.empty()) {
    link.queue = harness::QueueSpec::parse(arguments.queue);
  }
  if (!arguments.path.jitter.empty()) {
    link.jitter = parse_jitter(arguments.path.jitter);
  }
  if (!arguments.path.burst_loss.empty()) {
    link.burst_loss = parse_burst_loss(arguments.path.burst_loss);
  }
  link.duplicate = parse_duplicate(arguments.path.duplicate);
  link.detours = parse_detours(arguments.path.detour);
}

void set_times(const RunArguments& arguments, harness::RunSpec& spec) {
  const Duration trace = std::min(spec.link.down->period(), spec.link.up->period());
  spec.duration =
      arguments.duration.empty()
          ? std::max<Duration>(
                std::chrono::floor<std::chrono::seconds>(std::min(trace, kDefaultDurationMax)), 1s)
          : parse_duration(arguments.duration, "--duration");
  if (spec.duration <= Duration{} || spec.duration > kDurationMax) {
    throw std::invalid_argument("--duration: more than 0 and at most a day");
  }
  const Duration usual = spec.duration < kShortTrace ? kSkipShort : kSkipLong;
  spec.skip = arguments.skip.empty() ? std::min(usual, spec.duration / 4)
                                     : parse_duration(arguments.skip, "--skip");
  if (spec.skip < Duration{} || spec.skip >= spec.duration) {
    throw std::invalid_argument("--skip must be shorter than --duration: nothing would be scored");
  }
}

/// "synthetic" or "synthetic:WIDTHxHEIGHT@RATE".
std::shared_ptr<media::VideoSource> synthetic_camera(const std::string& text, uint64_t seed) {
  media::SyntheticCameraOptions options{.seed = seed};
  int rate = 30;
  const size_t colon = text.find(':');
  if (colon != std::string::npos) {
    char rest = 0;
    const int fields = std::sscanf(text.c_str() + colon, ":%dx%d@%d%c", &options.width,
                                   &options.height, &rate, &rest);
    if (fields != 3 || options.width < 16 || options.height < 16 ||
        options.width > media::kSyntheticCameraSideMax ||
        options.height > media::kSyntheticCameraSideMax || rate < 1 || rate > 120) {
      throw std::invalid_argument("--video " + text +
                                  ": not synthetic:WIDTHxHEIGHT@RATE, as in synthetic:640x360@30");
    }
  }
  options.frame_rate = {.numerator = rate, .denominator = 1};
  // Two seconds: most frames are displayed and scored by then.
  const size_t kept = static_cast<size_t>(rate) * 2;
  return std::make_shared<media::RecentPictures>(std::make_unique<media::SyntheticCamera>(options),
                                                 kept);
}

bool is_synthetic(const std::string& video) {
  return video == "synthetic" || video.starts_with("synthetic:");
}

std::shared_ptr<media::AudioSource> microphone(const std::string& audio, uint64_t seed) {
  if (audio == "none") {
    return nullptr;
  }
  if (audio == "synthetic") {
    return std::make_shared<media::SyntheticVoice>(media::SyntheticVoiceOptions{.seed = seed});
  }
  return media::open_audio(audio);
}

/// The schemes to film; none without --film.
std::vector<std::string> filmed_schemes(const RunArguments& arguments) {
  if (arguments.film.empty() || arguments.film == kFilmAll) {
    return arguments.film.empty() ? std::vector<std::string>{} : arguments.schemes;
  }
  std::vector<std::string> names;
  std::istringstream stream{arguments.film};
  for (std::string name; std::getline(stream, name, ',');) {
    names.push_back(name);
  }
  return names;
}

void check_film_schemes(const RunArguments& arguments) {
  const std::vector<std::string> names = filmed_schemes(arguments);
  if (names.size() > 2 || (names.size() == 2 && names.front() == names.back())) {
    throw std::invalid_argument(
        "--film shows two schemes side by side, or one next to the original: name them, "
        "--film A,B");
  }
  for (const std::string& name : names) {
    if (std::ranges::find(arguments.schemes, name) == arguments.schemes.end()) {
      throw std::invalid_argument("--film " + arguments.film + ": scheme \"" + name +
                                  "\" is not run; add it to --scheme");
    }
  }
}

void check_films(const RunArguments& arguments) {
  if (!arguments.save.empty() && arguments.video.empty()) {
    throw std::invalid_argument("--save goes with --video: a flow has no viewer");
  }
  if (!arguments.film.empty() && arguments.video.empty()) {
    throw std::invalid_argument("--film goes with --video: a flow has no viewer");
  }
  check_film_schemes(arguments);
  for (const std::string& input : {arguments.video, arguments.audio}) {
    for (const std::filesystem::path& output : watchable_files(arguments.out)) {
      std::error_code trouble;
      if (std::filesystem::equivalent(input, output, trouble)) {
        throw std::invalid_argument(input +
                                    ": this run would replace it; choose another folder with "
                                    "--out");
      }
    }
  }
}

unsigned jobs_of(const RunArguments& arguments, size_t runs) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned wanted = arguments.jobs == 0 ? cores : arguments.jobs;
  return std::min(wanted, static_cast<unsigned>(runs));
}

/// A finished run. `error`: of its movies; the output is complete even with one.
struct Finished {
  harness::RunOutput output;
  FirstError error;
};

using Show = film::ProducedFeed::Show;

/// `show` (may be empty) is called for each picture of the forward direction.
Finished run_one(const RunArguments& arguments, const schemes::SchemeContext& context,
                 harness::RunSpec spec, const std::function<void(double)>& on_progress,
                 const Show& show = {}) {
  set_media(arguments, spec);
  std::vector<std::unique_ptr<ViewerMovie>> movies;
  if (!arguments.save.empty()) {
    for (const char* direction : {"forward", "reverse"}) {
      if (direction == std::string_view{"forward"} || spec.reverse_video) {
        movies.push_back(
            std::make_unique<ViewerMovie>(spec, direction, arguments.out, arguments.save));
      }
    }
  }
  const auto movie_of = [&](const std::string& direction) {
    return std::ranges::find(movies, direction, &ViewerMovie::direction);
  };
  TimePoint last_shown = kTimeZero;
  spec.on_shown = [&](const std::string& direction, const schemes::ShownFrame& frame) {
    if (const auto movie = movie_of(direction); movie != movies.end()) {
      (*movie)->show(frame);
    }
    if (show && direction == "forward") {
      last_shown = std::max(last_shown, frame.shown);  // as in ViewerMovie
      show({frame.captured, last_shown, frame.picture, {}});
    }
  };
  spec.on_played = [&](const std::string& direction, const app::PlayedAudio& sound) {
    if (const auto movie = movie_of(direction); movie != movies.end()) {
      (*movie)->play(sound);
    }
  };
  Finished finished;
  finished.output = harness::run(spec, context, on_progress);
  for (const auto& movie : movies) {
    finished.error.attempt([&] { movie->finish(); });
  }
  return finished;
}

/// One per spec; empty if it has not run.
using FinishedRuns = std::vector<std::optional<Finished>>;

/// Runs those of `specs` that are not `done`, a few at a time, and writes each output in order as
/// soon as it is available. After an `error` no further one is started, but those that are running
/// are still written.
void run_and_file(const RunArguments& arguments, const schemes::SchemeContext& context,
                  const std::vector<harness::RunSpec>& specs, FinishedRuns done, Progress& progress,
                  harness::OutputFolder& folder, FirstError& error) {
  std::vector<std::future<Finished>> running(specs.size());
  size_t next = 0;
  const auto start_one = [&] {
    while (next < specs.size() && done[next]) {
      ++next;
    }
    if (next < specs.size()) {
      const size_t i = next++;
      running[i] = std::async(std::launch::async, [&, i] {
        return run_one(arguments, context, specs[i],
                       [&, i](double share) { progress.report(i, share); });
      });
    }
  };
  const size_t jobs = error ? 0 : jobs_of(arguments, specs.size());
  for (size_t i = 0; i < jobs; ++i) {
    start_one();
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool was_started = running[i].valid();
    error.attempt([&] { done[i] = was_started ? running[i].get() : std::move(done[i]); });
    if (done[i]) {
      error.attempt([&] { folder.add(std::move(done[i]->output)); });
      error.note(done[i]->error);
      progress.report(i, 1);
    }
    if (!error) {
      start_one();
    }
  }
}

/// "lte-slow, 20 ms, synthetic camera, seed 1": the film's title.
std::string film_title(const RunArguments& arguments, const harness::RunSpec& spec) {
  std::string title = spec.link.name + ", " + arguments.delay;
  if (spec.link.loss > 0) {
    title += ", loss " + std::to_string(std::lround(spec.link.loss * 100)) + " %";
  }
  return title + ", " + spec.forward_video->description();
}

/// Runs those of `specs` that are to be filmed, side by side, while their film is drawn. `probe`:
/// one of the specs with its media, which no run uses.
FinishedRuns run_filmed(const RunArguments& arguments, const schemes::SchemeContext& context,
                        const std::vector<harness::RunSpec>& specs, const harness::RunSpec& probe,
                        Progress& progress, FirstError& error) {
  FinishedRuns finished(specs.size());
  std::vector<FilmedRun> runs;
  for (const std::string& name : filmed_schemes(arguments)) {
    const auto spec = std::ranges::find(specs, name, &harness::RunSpec::scheme);
    const auto i = static_cast<size_t>(spec - specs.begin());
    runs.push_back({name, [&, i](const Show& show) {
                      finished[i] = run_one(
                          arguments, context, specs[i],
                          [&, i](double share) { progress.report(i, share); }, show);
                    }});
  }
  error.attempt([&] {
    film_runs({.path = std::filesystem::path{arguments.out} / kFilmName,
               .title = film_title(arguments, probe),
               .length = probe.duration},
              *probe.forward_video, std::move(runs));
  });
  return finished;
}

/// Throws the first error after finished results were written.
void run_all(const RunArguments& arguments, const std::vector<harness::RunSpec>& specs,
             harness::RunSpec probe, harness::OutputFolder& folder) {
  const schemes::SchemeContext context;
  Progress progress{specs.size()};
  FirstError error;
  FinishedRuns done(specs.size());
  if (!arguments.film.empty()) {
    done = run_filmed(arguments, context, specs, probe, progress, error);
  }
  probe = {};  // a decoded clip is large
  run_and_file(arguments, context, specs, std::move(done), progress, folder, error);
  error.rethrow();
}

/// The experiment of these results, for `compare`; nothing if no run finished.
void save_record(const RunArguments& a, const harness::RunSpec& spec, const InputDigests& digests,
                 const harness::OutputFolder& folder) {
  if (folder.results().empty()) {
    return;
  }
  compare::RunRecord record = new_record("run");
  record.not_compared = {{"scheme", a.schemes}, {"seed", a.seed},           {"out", a.out},
                         {"json", a.json},      {"no_report", a.no_report}, {"save", a.save},
                         {"film", a.film},      {"jobs", a.jobs},           {"data", a.data},
                         {"link", a.link},      {"down", a.down},           {"up", a.up}};
  if (!a.rate.empty()) {
    record.not_compared["rate"] = a.rate;
  }
  record.experiments = {experiment_of(a, spec, options_of(a, spec, a.video, a.audio), digests)};
  save_text(compare::record_json(std::move(record), harness::results_json(folder.results())),
            folder.path() / compare::kRecordName);
}

/// One line for each movie that is there.
void list_movies(const std::filesystem::path& folder, std::ostream& out) {
  for (const std::filesystem::path& file : watchable_files(folder)) {
    if (std::filesystem::is_regular_file(file)) {
      out << (file.filename() == kFilmName ? "film: " : "movie: ") << file.string() << "\n";
    }
  }
}

}  // namespace

harness::LinkSpec load_link(const RunArguments& arguments) {
  harness::LinkSpec link;
  const std::string name = link_name_of(arguments.link, arguments.rate);
  if (!name.empty()) {
    if (!arguments.down.empty() || !arguments.up.empty()) {
      throw std::invalid_argument("give either --link or --down and --up, not both");
    }
    traces::NamedLink named = traces::resolve_link(name, arguments.data);
    link.name = named.name;
    link.queue = harness::QueueSpec::parse(named.path.queue);
    link.jitter = named.path.jitter;
    link.burst_loss = named.path.burst_loss;
    link.down = std::make_shared<sim::DeliveryTrace>(std::move(named.down));
    link.up = std::make_shared<sim::DeliveryTrace>(std::move(named.up));
  } else {
    if (arguments.down.empty() || arguments.up.empty()) {
      throw std::invalid_argument(
          "no link: give --link NAME (`cress-eval links` lists them), or both --down and --up");
    }
    link.name = std::filesystem::path{arguments.down}.stem().string();
    link.down = std::make_shared<sim::DeliveryTrace>(sim::load_trace(arguments.down));
    link.up = std::make_shared<sim::DeliveryTrace>(sim::load_trace(arguments.up));
  }
  return link;
}

std::vector<harness::RunSpec> specs_of(const RunArguments& arguments,
                                       const harness::LinkSpec& link) {
  if (arguments.one_way && arguments.video.empty()) {
    throw std::invalid_argument("--one-way goes with --video; without it every flow is one-way");
  }
  harness::RunSpec spec;
  spec.link = link;
  set_path(arguments, spec.link);
  spec.seed = arguments.seed;
  spec.cross = parse_cross(arguments.path.cross);
  harness::CrossTraffic::check(spec.cross);
  set_times(arguments, spec);
  std::vector<harness::RunSpec> specs;
  std::set<std::string> seen;
  for (const std::string& name : arguments.schemes) {
    const schemes::SchemeInfo& info = schemes::find_scheme(name);
    if (arguments.video.empty() ? !info.saturating : !info.call) {
      throw std::invalid_argument("scheme \"" + name + "\" " +
                                  (info.call ? "only carries calls: add --video FILE"
                                             : "carries no call: run it without --video"));
    }
    if (!seen.insert(name).second) {
      throw std::invalid_argument("scheme \"" + name + "\" is named twice");
    }
    spec.scheme = name;
    specs.push_back(spec);
  }
  return specs;
}

void set_media(const RunArguments& arguments, harness::RunSpec& spec) {
  if (arguments.video.empty()) {
    return;
  }
  if (is_synthetic(arguments.video)) {
    spec.forward_video = synthetic_camera(arguments.video, arguments.seed);
    spec.reverse_video = synthetic_camera(arguments.video, arguments.seed + 1);
  } else {
    spec.forward_video = media::open_video(arguments.video);
    spec.reverse_video = spec.forward_video;
  }
  spec.forward_sound = microphone(arguments.audio, arguments.seed);
  spec.cross_media = [arguments, film = spec.forward_video](size_t number) {
    // Another of the run's cameras is at another moment: only a file can be asked for any.
    const uint64_t seed = arguments.seed + 2 + number;
    return schemes::CallMedia{
        is_synthetic(arguments.video) ? synthetic_camera(arguments.video, seed) : film,
        arguments.audio == "none" ? nullptr : microphone("synthetic", seed)};
  };
  if (arguments.one_way) {
    spec.reverse_video.reset();
  } else {
    spec.reverse_sound = microphone(arguments.audio, arguments.seed + 1);
  }
}

void add_run_options(CLI::App& command, RunArguments& a) {
  command
      .add_option("--scheme", a.schemes, "Schemes, separated by commas (see `cress-eval schemes`)")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--link", a.link, "An embedded or recorded link (see `cress-eval links`)");
  command.add_option("--down", a.down, "Mahimahi trace of the forward direction");
  command.add_option("--up", a.up, "Mahimahi trace of the reverse direction");
  command.add_option("--rate", a.rate,
                     "A link of this rate both ways: 12Mbit/s, or with steps "
                     "12Mbit/s,3Mbit/s@20s");
  command.add_option("--duration", a.duration, "Length of the run [the traces', at most 300s]");
  command.add_option("--skip", a.skip,
                     "Not scored at the start [60s; 10s of a run under 200s; at most a quarter]");
  command.add_option("--delay", a.delay, "Propagation, each way")->capture_default_str();
  command.add_option("--loss", a.loss, "Random loss, each way, before the queue: 0.05 is 5 %")
      ->capture_default_str();
  command.add_option("--queue", a.queue, kQueueAbout);
  add_path_options(command, a.path);
  command.add_option("--video", a.video,
                     "Pictures for a call, in a loop: a .y4m, any file GStreamer decodes, or "
                     "synthetic[:640x360@30]; without it each scheme is a saturating one-way flow");
  command
      .add_option("--audio", a.audio,
                  "Sound of a call, in a loop: any file GStreamer decodes, synthetic, or none")
      ->capture_default_str()
      ->needs("--video");
  command.add_flag("--one-way", a.one_way, "Only the forward direction carries pictures and sound");
  command.add_option("--seed", a.seed, "Of loss, queue and jittered starts")->capture_default_str();
  command.add_option("--out", a.out, "Output folder")->capture_default_str();
  command.add_flag("--json", a.json, "Print results.json instead of the table");
  command.add_flag("--no-report", a.no_report, "Do not write report.html");
  command
      .add_option("--save", a.save,
                  "With --video: write what each viewer saw and heard, SCHEME-DIRECTION.webm; "
                  "--save y4m: uncompressed, without sound")
      ->expected(0, 1)
      ->default_str("webm")
      ->check(CLI::IsMember({"webm", "y4m"}));
  command
      .add_option(
          "--film", a.film,
          "With --video: write film.webm, two schemes side by side (one: next to "
          "the original) with the age of their pictures drawn in; of more schemes: --film A,B")
      ->expected(0, 1)
      ->default_str(kFilmAll);
  command.add_option("--jobs", a.jobs, "Schemes at a time [one a core]; filmed ones go together")
      ->check(CLI::Range(1U, 1024U));
}

void execute_run(const RunArguments& arguments, std::ostream& out, std::ostream& err) {
  check_films(arguments);
  const std::vector<harness::RunSpec> specs = specs_of(arguments, load_link(arguments));
  harness::RunSpec probe = specs.front();
  // Opened once before anything runs, so that a broken file is reported at once.
  set_media(arguments, probe);
  // Before the runs: the current contents of the files are what they read.
  const InputDigests digests = digests_of(arguments, specs.front().link);
  harness::OutputFolder folder{arguments.out};
  remove_watchable_files(folder.path(), err);
  FirstError error;
  error.attempt([&] { run_all(arguments, specs, std::move(probe), folder); });
  error.attempt([&] { save_record(arguments, specs.front(), digests, folder); });
  error.rethrow();
  out << (arguments.json ? harness::results_json(folder.results())
                         : harness::results_table(folder.results()));
  if (!arguments.json) {
    list_movies(folder.path(), out);
  }
  if (!arguments.no_report) {
    const auto html = folder.path() / "report.html";
    report::write_report(folder.path(), html);
    if (!arguments.json) {
      out << "report: " << html.string() << "\n";
    }
  }
}

}  // namespace cress::eval
