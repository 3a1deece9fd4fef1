#include "eval/experiment.hh"

#include <utility>

#include "eval/commit.hh"
#include "eval/sweep/digest.hh"
#include "traces/everyday_links.hh"
#include "traces/links.hh"

namespace cress::eval {
namespace {

using Json = nlohmann::ordered_json;

Json trace_input(const RunArguments& arguments, const std::string& file, const std::string& digest,
                 traces::Direction direction) {
  const std::string name = link_name_of(arguments.link, arguments.rate);
  if (name.empty()) {
    return {{"file", file}, {"digest", digest}};
  }
  if (name.starts_with(traces::kConstantPrefix)) {
    return {{"rate", name.substr(traces::kConstantPrefix.size())}, {"digest", digest}};
  }
  if (traces::is_everyday(name)) {
    return {{"embedded", name}, {"digest", digest}};
  }
  if (!traces::is_embedded(name)) {
    return {{"recorded", name}, {"digest", digest}};
  }
  return {{"embedded", arguments.link},
          {"seed", traces::embedded_seed(arguments.link, direction)},
          {"digest", digest}};
}

/// Generated inputs depend on the run's seed, which is not part of an experiment.
Json media_input(const std::string& name, const std::string& digest) {
  if (!digest.empty()) {
    return {{"file", name}, {"digest", digest}};
  }
  return name == "none"
             ? Json{{"name", name}}
             : Json{{"name", name}, {"seed", "the run's, the reverse direction's 1 more"}};
}

}  // namespace

bool is_video_file(const std::string& video) {
  return !video.empty() && video != "synthetic" && !video.starts_with("synthetic:");
}

bool is_audio_file(const std::string& audio) { return audio != "synthetic" && audio != "none"; }

std::string digest_of(const sim::DeliveryTrace& trace) {
  sweep::Digest digest;
  for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
    digest.add(opportunity.at.count());
  }
  return digest.hex();
}

InputDigests digests_of(const RunArguments& arguments, const harness::LinkSpec& link) {
  InputDigests digests{.down = digest_of(*link.down), .up = digest_of(*link.up)};
  if (is_video_file(arguments.video)) {
    digests.video = sweep::digest_of_file(arguments.video);
  }
  if (!arguments.video.empty() && is_audio_file(arguments.audio)) {
    digests.audio = sweep::digest_of_file(arguments.audio);
  }
  return digests;
}

Json options_of(const RunArguments& arguments, const harness::RunSpec& spec,
                const std::string& video, const std::string& audio) {
  Json options{{"duration_s", to_seconds(spec.duration)},
               {"skip_s", to_seconds(spec.skip)},
               {"delay_ms", to_milliseconds(spec.link.delay)},
               {"loss", arguments.loss},
               {"queue", arguments.queue.empty() ? spec.link.queue.text() : arguments.queue}};
  options.update(path_options(arguments.path));
  if (!arguments.video.empty()) {
    options.update({{"video", video}, {"audio", audio}, {"one_way", arguments.one_way}});
  }
  return options;
}

compare::Experiment experiment_of(const RunArguments& arguments, const harness::RunSpec& spec,
                                  Json options, const InputDigests& digests) {
  Json inputs{
      {"down", trace_input(arguments, arguments.down, digests.down, traces::Direction::kDown)},
      {"up", trace_input(arguments, arguments.up, digests.up, traces::Direction::kUp)}};
  if (!arguments.video.empty()) {
    inputs["video"] = media_input(arguments.video, digests.video);
    inputs["audio"] = media_input(arguments.audio, digests.audio);
  }
  return {spec.link.name, std::move(options), std::move(inputs)};
}

compare::RunRecord new_record(const std::string& command) {
  return {.program = "cress-eval " CRESS_VERSION,
          .commit = commit(),
          .command = command,
          .experiments = {}};
}

}  // namespace cress::eval
