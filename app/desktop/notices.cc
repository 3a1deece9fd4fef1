#include "app/desktop/notices.hh"

#include <algorithm>

namespace cress::desktop {
namespace {

// A sentence takes a few seconds to be noticed and read; one that asks for an action stays.
Duration lifetime(ui::Tone tone) {
  return tone == ui::Tone::kWarning || tone == ui::Tone::kTrouble ? Duration{20s} : Duration{8s};
}

}  // namespace

void Notices::add(TimePoint now, ui::Tone tone, const std::string& text) {
  const TimePoint until = now + lifetime(tone);
  for (Entry& entry : entries_) {
    if (entry.notice.text == text && entry.notice.tone == tone) {
      entry.until = until;
      return;
    }
  }
  if (entries_.size() == kNoticesMax) {
    entries_.erase(entries_.begin());
  }
  entries_.push_back({{next_id_++, tone, text}, until});
}

void Notices::dismiss(uint64_t id) {
  std::erase_if(entries_, [id](const Entry& entry) { return entry.notice.id == id; });
}

bool Notices::update(TimePoint now) {
  return std::erase_if(entries_, [now](const Entry& entry) { return entry.until <= now; }) > 0;
}

std::vector<ui::Notice> Notices::all() const {
  std::vector<ui::Notice> notices;
  notices.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    notices.push_back(entry.notice);
  }
  return notices;
}

std::string sentence(std::string words) {
  if (words.empty()) {
    return words;
  }
  if (words.front() >= 'a' && words.front() <= 'z') {
    words.front() = static_cast<char>(words.front() - 'a' + 'A');
  }
  if (words.back() != '.' && words.back() != '?' && words.back() != '!') {
    words += '.';
  }
  return words;
}

}  // namespace cress::desktop
