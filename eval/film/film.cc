#include "eval/film/film.hh"

#include <algorithm>
#include <array>
#include <utility>

#include "media/frame/scale_picture.hh"
#include "transport/base/check.hh"

namespace cress::film {
namespace {

using media::Picture;

// The parts of a film's picture, from top to bottom, in pixels; all even.
constexpr int kMargin = 10;
constexpr int kHeaderHeight = 38;
constexpr int kWordsHeight = 44;
constexpr int kBarHeight = 12;
constexpr int kGap = 8;
constexpr int kGraphHeight = 68;
constexpr int kMetersHeight = kWordsHeight + kBarHeight + kGap + kGraphHeight + kMargin;
constexpr int kPictureHeightMin = 64;
// Heights of capital letters.
constexpr int kTitleLetters = 14;
constexpr int kNameLetters = 18;
constexpr int kAgeLetters = 24;
constexpr int kSmallLetters = 10;
constexpr int kTinyLetters = 8;

constexpr Colour kGround = from_rgb(18, 20, 26);
constexpr Colour kRoom = from_rgb(0, 0, 0);
constexpr Colour kTrack = from_rgb(44, 48, 58);
constexpr Colour kGrid = from_rgb(66, 72, 86);
constexpr Colour kText = from_rgb(236, 239, 244);
constexpr Colour kFaint = from_rgb(150, 158, 172);

struct Feeling {
  Duration age;
  Colour colour;
};
// ITU-T G.114: up to 150 ms one way hardly disturbs, beyond 400 ms conversation is difficult.
constexpr std::array<Feeling, 4> kFeelings{{{150ms, from_rgb(64, 190, 120)},
                                            {400ms, from_rgb(240, 190, 50)},
                                            {1000ms, from_rgb(240, 90, 50)},
                                            {2500ms, from_rgb(225, 25, 55)}}};

Colour colour_of(Duration age) {
  if (age <= kFeelings.front().age) {
    return kFeelings.front().colour;
  }
  for (size_t i = 1; i < kFeelings.size(); ++i) {
    const Feeling& from = kFeelings[i - 1];
    const Feeling& to = kFeelings[i];
    if (age < to.age) {
      return mix(from.colour, to.colour,
                 static_cast<int>((age - from.age) * 256 / (to.age - from.age)));
    }
  }
  return kFeelings.back().colour;
}

std::string two_digits(int64_t number) {
  return (number < 10 ? std::string{"0"} : std::string{}) + std::to_string(number);
}

// "1:07.3"
std::string clock_of(Duration time) {
  const int64_t tenths = time / 100ms;
  return std::to_string(tenths / 600) + ":" + two_digits(tenths / 10 % 60) + "." +
         std::to_string(tenths % 10);
}

// "83 ms", "12.4 s"
std::string words_of(Duration age) {
  if (age < 10s) {
    return std::to_string(age / 1ms) + " ms";
  }
  return std::to_string(age / 1s) + "." + std::to_string(age / 100ms % 10) + " s";
}

// "500 ms", "2 s": round ages.
std::string line_words_of(Duration age) {
  return age < 1s ? std::to_string(age / 1ms) + " ms" : std::to_string(age / 1s) + " s";
}

std::string seconds_of(Duration time) {
  return std::to_string(time / 1s) + "." + std::to_string(time / 100ms % 10) + " s";
}

// As much of `text` as fits.
std::string shorten(Font& font, std::string text, int height, int width) {
  if (font.width_of(text, height) <= width) {
    return text;
  }
  while (!text.empty() && font.width_of(text + "...", height) > width) {
    text.pop_back();
  }
  return text + "...";
}

// Spacing of the graph's lines, three at most, at round ages.
Duration grid_step(Duration full) {
  for (const Duration step : {Duration{100ms}, Duration{200ms}, Duration{500ms}, Duration{1s},
                              Duration{2s}, Duration{5s}, Duration{10s}}) {
    if (full / step <= 3) {
      return step;
    }
  }
  return full;
}

int pane_width(size_t panes, int film_width) {
  const auto count = static_cast<int>(panes);
  return (film_width - kMargin * (count + 1)) / count & ~1;
}

}  // namespace

std::vector<std::string> state_words(const PaneState& state) {
  if (!state.any) {
    return {"no picture yet"};
  }
  const std::string sum = seconds_of(state.frozen) + " so far";
  if (state.is_frozen) {
    const std::string now = "frozen " + seconds_of(state.still);
    return {now + ", " + sum, now};
  }
  const std::string number = std::to_string(state.pictures_per_second);
  const std::string rate =
      number + (state.pictures_per_second == 1 ? " picture" : " pictures") + " a second";
  const std::string size = std::to_string(state.width) + "x" + std::to_string(state.height);
  if (state.frozen == Duration{}) {
    return {rate + ", " + size, rate};
  }
  return {rate + ", " + size + ", frozen " + sum, rate + ", frozen " + sum,
          number + " a second, frozen " + sum, "frozen " + sum};
}

int fitting_height(size_t panes, int picture_width, int picture_height, int film_width) {
  check(panes >= 1 && panes <= kPanesMax, "fitting_height: number of panes");
  check(picture_width > 0 && picture_height > 0, "fitting_height: empty picture");
  return nearest_even(pane_width(panes, film_width), picture_height, picture_width) +
         kHeaderHeight + kMetersHeight;
}

Film::Film(FilmOptions options, std::vector<Pane> panes)
    : options_(std::move(options)), time_(options_.begin) {
  check(!panes.empty() && panes.size() <= kPanesMax, "Film: number of panes");
  check(options_.width % 2 == 0 && options_.height % 2 == 0, "Film: odd size");
  check(pane_width(panes.size(), options_.width) >= kPaneWidthMin &&
            options_.width <= media::kPictureSideMax,
        "Film: width out of range");
  check(options_.height >= kHeaderHeight + kPictureHeightMin + kMetersHeight &&
            options_.height <= media::kPictureSideMax,
        "Film: height out of range");
  check(options_.length > 0ms && options_.begin >= kTimeZero && options_.age_full > 0ms,
        "Film: times out of range");
  // One age per column is enough; no film has more pictures than that.
  constexpr uint64_t kGraphAgesMax = 10'000;
  while (graph_ages_ < kGraphAgesMax && options_.frame_rate.time_of(graph_ages_) < kGraphSpan) {
    ++graph_ages_;
  }
  lay_out(std::move(panes));
  draw_background();
  canvas_ = background_;
}

void Film::lay_out(std::vector<Pane> panes) {
  const int width = pane_width(panes.size(), options_.width);
  const int picture_height = options_.height - kHeaderHeight - kMetersHeight;
  int x = kMargin;
  for (Pane& pane : panes) {
    check(pane.feed != nullptr, "Film: a pane without a feed");
    Screen screen{.name = std::move(pane.name), .feed = std::move(pane.feed)};
    screen.picture_room = {x, kHeaderHeight, width, picture_height};
    screen.words = {x, screen.picture_room.bottom(), width, kWordsHeight};
    screen.bar = {x, screen.words.bottom(), width, kBarHeight};
    screen.graph = {x, screen.bar.bottom() + kGap, width, kGraphHeight};
    screen.ages.resize(graph_ages_);
    screens_.push_back(std::move(screen));
    x += width + kMargin;
  }
}

void Film::draw_background() {
  background_ = media::make_picture(options_.width, options_.height);
  fill(background_, {0, 0, options_.width, options_.height}, kGround);
  for (const Screen& screen : screens_) {
    fill(background_, screen.picture_room, kRoom);
    fill(background_, screen.graph, kTrack, 128);
    const Duration step = grid_step(options_.age_full);
    for (Duration age = step; age < options_.age_full; age += step) {
      const int y = screen.graph.bottom() - share_of_full(age, screen.graph.height);
      fill(background_, {screen.graph.x, y, screen.graph.width, 1}, kGrid);
    }
  }
  const std::string title =
      shorten(font_, options_.title, kTitleLetters, options_.width - 2 * kMargin - 120);
  font_.draw(background_, kMargin, (kHeaderHeight - kTitleLetters) / 2, kTitleLetters, title,
             kText);
}

// A multiple of `age_full` counts as full.
int Film::share_of_full(Duration age, int whole) const {
  const Duration shown = std::clamp(age, Duration{0}, options_.age_full);
  return static_cast<int>(static_cast<__int128>(shown.count()) * whole / options_.age_full.count());
}

bool Film::step() {
  const Duration since = options_.frame_rate.time_of(index_);
  if (since >= options_.length) {
    return false;
  }
  time_ = options_.begin + since;
  canvas_ = background_;
  draw_header();
  for (Screen& screen : screens_) {
    advance(screen);
    note_state(screen);
    const Duration age = age_of(screen);
    screen.ages[index_ % graph_ages_] = age;
    draw_picture(screen);
    draw_words(screen, age);
    draw_bar(screen, age);
    draw_graph(screen);
  }
  ++index_;
  return true;
}

void Film::advance(Screen& screen) const {
  bool changed = false;
  if (index_ == 0) {
    screen.next = screen.feed->poll();
  }
  while (screen.next && screen.next->shown <= time_) {
    screen.current = std::move(screen.next);
    screen.shown_lately.push_back(screen.current->shown);
    screen.next = screen.feed->poll();
    check(!screen.next || screen.next->shown >= screen.current->shown,
          "Film: a feed goes back in time");
    changed = true;
  }
  if (changed) {
    const Picture& picture = *screen.current->picture;
    screen.scaled_box = fit(picture.width, picture.height, screen.picture_room);
    screen.scaled =
        media::scale_picture(picture, screen.scaled_box.width, screen.scaled_box.height);
    screen.state.width = picture.width;
    screen.state.height = picture.height;
    screen.current->picture.reset();  // only the scaled one is needed
  }
}

void Film::note_state(Screen& screen) const {
  std::erase_if(screen.shown_lately, [this](TimePoint shown) { return time_ - shown >= 1s; });
  PaneState& state = screen.state;
  state.any = screen.current.has_value();
  state.still = time_ - (state.any ? screen.current->shown : kTimeZero);
  state.pictures_per_second = narrow<int>(std::ssize(screen.shown_lately));
  const bool was_frozen = state.is_frozen;
  state.is_frozen = state.any && state.still > options_.frozen_after;
  if (state.is_frozen) {
    const Duration tick = options_.frame_rate.time_of(index_) -
                          options_.frame_rate.time_of(index_ == 0 ? 0 : index_ - 1);
    state.frozen += was_frozen ? tick : state.still;
  }
}

Duration Film::age_of(const Screen& screen) const {
  return time_ - (screen.current ? screen.current->captured : kTimeZero);
}

void Film::draw_header() {
  const std::string clock = clock_of(time_ - kTimeZero);
  font_.draw(canvas_, options_.width - kMargin - font_.width_of(clock, kTitleLetters),
             (kHeaderHeight - kTitleLetters) / 2, kTitleLetters, clock, kText);
}

void Film::draw_picture(Screen& screen) {
  if (screen.scaled) {
    place(canvas_, screen.scaled_box.x, screen.scaled_box.y, *screen.scaled);
  }
  const Duration still = time_ - (screen.current ? screen.current->shown : kTimeZero);
  if (still <= options_.frozen_after) {
    return;
  }
  // A label in the picture's corner, where the viewer looks.
  const std::string words = (screen.current ? "frozen " : "no picture ") + seconds_of(still);
  const Box& box = screen.scaled ? screen.scaled_box : screen.picture_room;
  const int pad = kSmallLetters / 2;
  fill(canvas_,
       {box.x + kGap, box.y + kGap, font_.width_of(words, kSmallLetters) + 2 * pad,
        kSmallLetters + 2 * pad},
       colour_of(std::max<Duration>(still, 1s)), 224);
  font_.draw(canvas_, box.x + kGap + pad, box.y + kGap + pad, kSmallLetters, words, kText);
}

void Film::draw_words(Screen& screen, Duration age) {
  const std::string number = screen.current ? words_of(age) : "-";
  const int number_width = font_.width_of(number, kAgeLetters);
  const Box& box = screen.words;
  font_.draw(canvas_, box.right() - number_width, box.y + (box.height - kAgeLetters) / 2,
             kAgeLetters, number, colour_of(age));
  const int room = box.width - number_width - 2 * kGap;
  const std::string name = shorten(font_, screen.name, kNameLetters, room);
  const int y = box.y + (box.height - kNameLetters) / 2;
  const int end = font_.draw(canvas_, box.x, y, kNameLetters, name, kText);
  const int note_room = room - (end - box.x) - kGap;
  std::vector<std::string> notes = state_words(screen.state);
  if (screen.current && !screen.current->note.empty()) {
    notes.insert(notes.begin(), notes.front() + ", " + screen.current->note);
  }
  const auto note = std::ranges::find_if(notes, [&](const std::string& words) {
    return font_.width_of(words, kSmallLetters) <= note_room;
  });
  if (note != notes.end()) {
    font_.draw(canvas_, end + kGap, y + kNameLetters - kSmallLetters, kSmallLetters, *note, kFaint);
  }
}

void Film::draw_bar(const Screen& screen, Duration age) {
  Box box = screen.bar;
  fill(canvas_, box, kTrack);
  box.width = std::max(2, share_of_full(age, box.width));
  fill(canvas_, box, colour_of(age));
}

void Film::draw_graph(const Screen& screen) {
  const Box& box = screen.graph;
  // The right edge is now; a column shows its own time.
  const uint64_t known = std::min(index_ + 1, graph_ages_);
  for (int column = 0; column < box.width; ++column) {
    const auto back = static_cast<uint64_t>(box.width - 1 - column) * graph_ages_ /
                      static_cast<uint64_t>(box.width);
    if (back >= known) {
      continue;
    }
    const Duration age = screen.ages[(index_ - back) % graph_ages_];
    const int height = std::max(1, share_of_full(age, box.height));
    const Colour colour = colour_of(age);
    fill(canvas_, {box.x + column, box.bottom() - height, 1, height}, colour, 150);
    fill(canvas_, {box.x + column, box.bottom() - height, 1, 2}, colour);
  }
  const Duration step = grid_step(options_.age_full);
  for (Duration age = step; age < options_.age_full; age += step) {
    const int y = box.bottom() - share_of_full(age, box.height) + 4;
    font_.draw(canvas_, box.x + 5, y, kTinyLetters, line_words_of(age), kFaint);
  }
  font_.draw(canvas_, box.x + 5, box.y + 5, kTinyLetters, "age of the picture, last 10 s", kFaint);
}

void write_film(Film& film, media::MovieWriter& movie,
                const std::function<void(double)>& on_progress) {
  const FilmOptions& options = film.options();
  while (film.step()) {
    const Duration at = film.time() - options.begin;
    movie.add_picture(at, film.canvas());
    if (on_progress) {
      on_progress(to_seconds(at) / to_seconds(options.length));
    }
  }
  movie.finish(options.length);
  if (on_progress) {
    on_progress(1.0);
  }
}

}  // namespace cress::film
