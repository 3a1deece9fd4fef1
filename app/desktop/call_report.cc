// "Save what I see": what the live panel showed, as files.

#include <memory>
#include <utility>

#include "app/desktop/desktop_call.hh"

namespace cress::desktop {

void DesktopCall::note_shown() {
  if (!health_.history().empty()) {
    if (shown_.size() == ui::kReportSamplesMax) {
      shown_.pop_front();
    }
    shown_.push_back(health_.history().newest());
  }
}

void DesktopCall::act(const ui::SaveReport&) {
  if (!is_in_call() || !connected_at_) {
    return;
  }
  if (options_.reports_path.empty()) {
    notify(ui::Tone::kWarning, "Not saved: there is no home folder to save it in.");
    return;
  }
  ui::Report report{.made_at = options_.local_time(),
                    .room = scene_ ? scene_->room().name : "",
                    .people = scene_ ? scene_->room().others.size() + 1 : 2,
                    .path = path_words(live_->sample()),
                    .status = health_.status().text,
                    .health = health_.health(),
                    .began = *connected_at_,
                    .samples = shown_};
  const auto folder = std::make_shared<std::filesystem::path>();
  const bool begun = errands_.run([report = std::move(report), parent = options_.reports_path,
                                   folder] { *folder = ui::write_report(report, parent); },
                                  [this, folder](const std::string& error) {
                                    if (error.empty()) {
                                      notify(ui::Tone::kGood, "Saved in " + folder->string());
                                    } else {
                                      notify(ui::Tone::kWarning, sentence("Not saved: " + error));
                                    }
                                  });
  if (!begun) {
    notify(ui::Tone::kWarning, "Not saved: the disk does not answer; try again later.");
  }
}

}  // namespace cress::desktop
