#include "eval/sweep_runs.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "eval/experiment.hh"
#include "eval/harness/outputs.hh"
#include "eval/sweep/digest.hh"
#include "eval/sweep/pool.hh"
#include "eval/sweep/shard.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/everyday_links.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

using sweep::Json;
using sweep::Key;
using sweep::PlanValue;

struct NamedLink {
  harness::LinkSpec link;
  std::string down_digest{};
  std::string up_digest{};
};

/// Reads a plan's runs; each link, and each file's digest, once.
class PlanReader {
 public:
  PlanReader(const std::string& path, std::string data, std::string program)
      : path_(path),
        folder_(std::filesystem::path{path}.parent_path()),
        data_(std::move(data)),
        program_(std::move(program)) {
    constexpr DataSize kSizeMax{static_cast<int64_t>(sweep::kPlanBytesMax) * 2};
    auto plan = sweep::parse_plan(load_text(path, kSizeMax));
    if (!plan) {
      throw std::invalid_argument(plan_error(path, plan.error().line, plan.error().what));
    }
    plan_ = std::move(plan).value();
  }

  std::vector<PlannedRun> runs() {
    std::vector<PlannedRun> all;
    all.reserve(plan_.size());
    std::map<std::string, size_t> seen;  // key -> which run
    for (size_t i = 0; i < plan_.size(); ++i) {
      all.push_back(run(i));
      const auto [first, fresh] = seen.try_emplace(all.back().definition.key(), i);
      if (!fresh) {
        throw std::invalid_argument(
            plan_error(path_, line(i, Key::kScheme),
                       fmt::format("{} is in the plan twice (also line {}); take one out",
                                   words_of(all.back()), line(first->second, Key::kScheme))));
      }
    }
    check_media(all);
    return all;
  }

 private:
  std::string text(size_t i, Key key, const std::string& otherwise = {}) const {
    const PlanValue* value = plan_.value(i, key);
    return value == nullptr ? otherwise : value->text;
  }
  size_t line(size_t i, Key key) const {
    const PlanValue* value = plan_.value(i, key);
    return value == nullptr ? 0 : value->line;
  }
  /// Files of a plan are relative to its folder.
  std::string beside(const std::string& file) const { return (folder_ / file).string(); }

  RunArguments arguments(size_t i) const {
    RunArguments a;
    const PlanValue& link = *plan_.value(i, Key::kLink);
    a.schemes = {text(i, Key::kScheme)};
    a.link = link.down.empty() ? link.text : "";
    a.down = link.down.empty() ? "" : beside(link.down);
    a.up = link.down.empty() ? "" : beside(link.up);
    a.duration = text(i, Key::kDuration);
    a.skip = text(i, Key::kSkip);
    a.delay = text(i, Key::kDelay, a.delay);
    a.loss = std::stod(text(i, Key::kLoss, "0"));
    a.queue = text(i, Key::kQueue, traces::is_everyday(a.link) ? "" : "infinite");
    a.video = text(i, Key::kVideo);
    a.video = is_video_file(a.video) ? beside(a.video) : a.video;
    a.audio = text(i, Key::kAudio, a.audio);
    a.audio = is_audio_file(a.audio) ? beside(a.audio) : a.audio;
    a.one_way = text(i, Key::kOneWay) == "true";
    a.seed = std::stoull(text(i, Key::kSeed));
    a.data = data_;
    return a;
  }

  const NamedLink& link_of(size_t i, const RunArguments& a) {
    const PlanValue& value = *plan_.value(i, Key::kLink);
    const auto key = std::tuple{value.text, value.down, value.up};
    if (const auto found = links_.find(key); found != links_.end()) {
      return found->second;
    }
    NamedLink named{.link = load_link(a)};
    named.link.name = value.down.empty() || value.text.empty() ? named.link.name : value.text;
    named.down_digest = digest_of(*named.link.down);
    named.up_digest = digest_of(*named.link.up);
    for (const auto& [other, link] : links_) {
      if (link.link.name == named.link.name) {
        throw std::invalid_argument(
            fmt::format("two links are called \"{}\"; tell them apart by {{down = ..., up = ..., "
                        "name = \"N\"}}",
                        named.link.name));
      }
    }
    return links_.emplace(key, std::move(named)).first->second;
  }

  const std::string& file_digest(const std::string& file) {
    std::string& digest = digests_[file];
    digest = digest.empty() ? sweep::digest_of_file(file) : digest;
    return digest;
  }

  PlannedRun run(size_t i) {
    PlannedRun run;
    Key doing = Key::kLink;
    try {
      run.arguments = arguments(i);
      const NamedLink& link = link_of(i, run.arguments);
      doing = Key::kScheme;
      run.spec = specs_of(run.arguments, link.link).front();
      doing = Key::kVideo;
      define(i, link, run);
    } catch (const std::exception& error) {
      throw std::invalid_argument(blamed(i, error.what(), doing));
    }
    return run;
  }

  void define(size_t i, const NamedLink& link, PlannedRun& run) {
    const RunArguments& a = run.arguments;
    // File names as in the plan: on another machine the same clip is elsewhere.
    const Json options =
        options_of(a, run.spec, text(i, Key::kVideo), text(i, Key::kAudio, a.audio));
    InputDigests digests{.down = link.down_digest, .up = link.up_digest};
    Json what{{"scheme", a.schemes.front()},
              {"link", link.link.name},
              {"down", link.down_digest},
              {"up", link.up_digest},
              {"seed", a.seed}};
    if (!a.video.empty()) {
      digests.video = is_video_file(a.video) ? file_digest(a.video) : "";
      digests.audio = is_audio_file(a.audio) ? file_digest(a.audio) : "";
      what["video"] = digests.video.empty() ? a.video : digests.video;
      what["audio"] = digests.audio.empty() ? a.audio : digests.audio;
    }
    what["options"] = options;
    run.options = options.dump();
    run.definition = {program_, what.dump()};
    run.experiment = experiment_of(a, run.spec, options, digests);
  }

  /// The error of an option of run `i`, in the form of a plan's error: without dashes, with the
  /// line of the first option it names, otherwise that of `otherwise`.
  std::string blamed(size_t i, const std::string& what, Key otherwise) const {
    Key guilty = otherwise;
    size_t first = std::string::npos;
    std::string told = what;
    for (size_t key = 0; key < sweep::kKeyNames.size(); ++key) {
      std::string option = fmt::format("--{}", sweep::kKeyNames[key]);
      std::ranges::replace(option, '_', '-');
      if (what.find(option) < first && plan_.value(i, static_cast<Key>(key)) != nullptr) {
        first = what.find(option);
        guilty = static_cast<Key>(key);
      }
      if (const size_t at = told.find(option); at != std::string::npos) {
        told.replace(at, option.size(), sweep::kKeyNames[key]);
      }
    }
    return plan_error(path_, line(i, guilty), told);
  }

  /// Opens each pair of video and audio once, in processes of their own: a broken clip is reported
  /// before anything runs, and GStreamer's threads never exist at a fork.
  void check_media(const std::vector<PlannedRun>& all) const {
    std::map<std::pair<std::string, std::string>, size_t> distinct;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].arguments.video.empty()) {
        distinct.try_emplace({all[i].arguments.video, all[i].arguments.audio}, i);
      }
    }
    std::vector<size_t> tasks;
    tasks.reserve(distinct.size());
    for (const auto& [files, run] : distinct) {
      tasks.push_back(run);
    }
    const auto open = [&](size_t i, const std::function<void(double)>&) {
      const media::GstRuntime gstreamer;
      harness::RunSpec spec = all[i].spec;
      set_media(all[i].arguments, spec);
      return std::string{};
    };
    const auto on_end = [&](size_t i, const sweep::Outcome& outcome) {
      if (!outcome.is_done) {
        const bool is_sound = outcome.text.find(all[i].arguments.audio) != std::string::npos;
        throw std::invalid_argument(blamed(i, outcome.text, is_sound ? Key::kAudio : Key::kVideo));
      }
    };
    const auto ended = sweep::run_in_processes(
        tasks, 1, open,
        {.on_end = on_end, .on_tick = [](double) {}, .on_interrupt = [](size_t) {}});
    if (ended == sweep::PoolEnd::kInterrupted) {
      throw std::runtime_error("interrupted before anything ran");
    }
  }

  std::string path_;
  std::filesystem::path folder_;
  std::string data_;
  std::string program_;
  sweep::Plan plan_;
  std::map<std::tuple<std::string, std::string, std::string>, NamedLink> links_;
  std::map<std::string, std::string> digests_;
};

}  // namespace

std::string plan_error(const std::string& plan, size_t line, const std::string& what) {
  return fmt::format("{}{}: {}", plan, line > 0 ? fmt::format(":{}", line) : "", what);
}

std::vector<PlannedRun> load_plan(const std::string& path, const std::string& data,
                                  const std::string& program) {
  return PlanReader{path, data, program}.runs();
}

std::string words_of(const PlannedRun& run) {
  return fmt::format("{} over {}, seed {}", run.spec.scheme, run.spec.link.name, run.spec.seed);
}

std::string command_of(const PlannedRun& run) {
  const RunArguments& a = run.arguments;
  std::string text = "cress-eval run";
  const auto add = [&](const char* option, const std::string& value) {
    text += value.empty() ? "" : fmt::format(" {} {}", option, sweep::shell_word(value));
  };
  add("--scheme", a.schemes.front());
  add("--link", a.link);
  add("--down", a.down);
  add("--up", a.up);
  add("--duration", a.duration);
  add("--skip", a.skip);
  add("--delay", a.delay);
  add("--loss", a.loss > 0 ? Json(a.loss).dump() : "");
  add("--queue", a.queue);
  add("--video", a.video);
  add("--audio", a.video.empty() ? "" : a.audio);
  text += a.one_way ? " --one-way" : "";
  add("--seed", std::to_string(a.seed));
  return text;
}

Json results_of(const PlannedRun& run, const schemes::SchemeContext& context,
                const std::function<void(double)>& on_progress) {
  std::optional<media::GstRuntime> gstreamer;
  if (is_video_file(run.arguments.video) || is_audio_file(run.arguments.audio)) {
    gstreamer.emplace();
  }
  harness::RunSpec spec = run.spec;
  set_media(run.arguments, spec);
  Json list = Json::parse(harness::results_json(harness::run(spec, context, on_progress).results));
  for (Json& object : list) {
    object["options"] = Json::parse(run.options);
  }
  return list;
}

}  // namespace cress::eval
