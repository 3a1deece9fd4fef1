#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/film/canvas.hh"
#include "eval/film/feed.hh"
#include "eval/film/font.hh"
#include "media/frame/picture.hh"
#include "media/gst/gst_movie_writer.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"

namespace cress::film {

struct FilmOptions {
  /// Of the film; even. At least kPaneWidthMin for each pane, and `fitting_height` of a picture 64
  /// pixels high.
  int width = 1280;
  int height = 540;
  media::FrameRate frame_rate{};
  /// The filmed part: from `begin` of the run on, `length` (> 0) of it. The film's clock displays
  /// the run's time.
  TimePoint begin = kTimeZero;
  Duration length = 60s;
  /// Above the panes: "Verizon LTE down, 20 ms".
  std::string title{};
  /// The age at which a bar is full and a graph reaches its top.
  Duration age_full = 2s;
  /// A picture displayed for longer than this is marked as frozen: δ + 150 ms at 30 frames per
  /// second (docs/method.md, "Freezes").
  Duration frozen_after = 183ms;
};

inline constexpr int kPaneWidthMin = 240;
inline constexpr size_t kPanesMax = 4;

/// One of the videos side by side, and the text about it.
struct Pane {
  std::string name;  ///< the scheme's
  std::unique_ptr<Feed> feed;
};

/// The height at which a film of `panes` panes has no black borders around pictures of this shape.
int fitting_height(size_t panes, int picture_width, int picture_height, int film_width = 1280);

/// The state of a viewer's screen.
struct PaneState {
  bool any = false;             ///< a picture was displayed
  bool is_frozen = false;       ///< it has not changed for longer than FilmOptions::frozen_after
  Duration still{};             ///< how long the picture has been the same
  Duration frozen{};            ///< the sum of all freezes so far, including the current one
  int pictures_per_second = 0;  ///< frames displayed in the last second
  int width = 0;                ///< of the received picture
  int height = 0;
};

/// The state as text, the longest first, to choose one that fits: "frozen 1.2 s, 8.4 s so far"; "24
/// pictures a second, 480x360, frozen 8.4 s so far".
std::vector<std::string> state_words(const PaneState& state);

/// A film of one to kPanesMax viewers' screens side by side at a constant frame rate, as an
/// illustration of the numbers. Under each picture: the scheme's name; the age of the displayed
/// picture (since its capture) as a number and as a bar, both growing while the picture is frozen,
/// with colours from calm to alarming; its state as text (state_words); and a graph of that age
/// over the last kGraphSpan. Pictures of any size, also changing, are scaled to their pane. Before
/// a pane's first picture, its age counts from the run's begin. Equal feeds and options give equal
/// pictures. Memory: two pictures and a scaled one for each pane. Threads: none inside (a feed may
/// have its own); one owner.
class Film {
 public:
  static constexpr Duration kGraphSpan = 10s;

  /// `panes`: 1..kPanesMax, their feeds not yet polled.
  Film(FilmOptions options, std::vector<Pane> panes);

  /// Draws the film's next picture into `canvas`. False if the film is over; then `canvas` is
  /// unchanged. Throws what a feed throws.
  bool step();
  const media::Picture& canvas() const { return canvas_; }
  /// The time in the run of the picture on the canvas.
  TimePoint time() const { return time_; }
  const FilmOptions& options() const { return options_; }
  /// The state of a pane (0 is the leftmost) on the canvas.
  const PaneState& state(size_t pane) const { return screens_.at(pane).state; }

 private:
  struct Screen {
    std::string name;
    std::unique_ptr<Feed> feed;
    Box picture_room{};
    Box words{};
    Box bar{};
    Box graph{};
    std::optional<ShownPicture> next{};      // not yet displayed
    std::optional<ShownPicture> current{};   // displayed
    std::optional<media::Picture> scaled{};  // `current` scaled to its pane
    Box scaled_box{};
    PaneState state{};
    std::vector<TimePoint> shown_lately{};  // in the last second, ascending
    std::vector<Duration> ages{};           // one per picture of the film in kGraphSpan: a ring
  };

  void lay_out(std::vector<Pane> panes);
  void advance(Screen& screen) const;
  void note_state(Screen& screen) const;
  Duration age_of(const Screen& screen) const;
  void draw_background();
  void draw_header();
  void draw_picture(Screen& screen);
  void draw_words(Screen& screen, Duration age);
  void draw_bar(const Screen& screen, Duration age);
  void draw_graph(const Screen& screen);
  int share_of_full(Duration age, int whole) const;

  FilmOptions options_;
  std::vector<Screen> screens_;
  Font font_;
  uint64_t index_ = 0;  // of the next picture of the film
  uint64_t graph_ages_ = 1;
  TimePoint time_;
  media::Picture background_;  // the parts that never change
  media::Picture canvas_;
};

/// Draws the whole film into `movie`, which has the film's size and frame rate, and finishes it.
/// `on_progress` (may be empty) is called with the share done, 0..1.
void write_film(Film& film, media::MovieWriter& movie,
                const std::function<void(double)>& on_progress = {});

}  // namespace cress::film
