#include "app/ui/kit/icons.hh"

#include <array>
#include <initializer_list>
#include <numbers>
#include <vector>

namespace cress::ui {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;
constexpr float kGrid = 24;
constexpr float kStroke = 2;

/// A round pen on a grid of 24 x 24.
class Pen {
 public:
  Pen(Canvas& canvas, Point center, float size, Color color)
      : canvas_(canvas),
        origin_{center.x - size / 2, center.y - size / 2},
        scale_(size / kGrid),
        color_(color) {}

  Point at(Point p) const { return {origin_.x + p.x * scale_, origin_.y + p.y * scale_}; }

  void path(std::initializer_list<Point> points, bool closed = false, float width = kStroke) {
    std::vector<Point> placed;
    for (const Point p : points) {
      placed.push_back(at(p));
    }
    canvas_.polyline(placed, color_, width * scale_, closed);
    if (!closed) {
      dot(*points.begin(), width / 2);
      dot(*(points.end() - 1), width / 2);
    }
  }
  void dot(Point p, float radius) { canvas_.fill_circle(at(p), radius * scale_, color_); }
  void circle(Point p, float radius) {
    canvas_.outline_circle(at(p), radius * scale_, color_, kStroke * scale_);
  }
  void arc(Point p, float radius, float from, float to) {
    canvas_.arc(at(p), radius * scale_, from, to, color_, kStroke * scale_);
  }
  void box(const Rect& r, float radius) {
    const Point corner = at({r.x, r.y});
    canvas_.outline({corner.x, corner.y, r.width * scale_, r.height * scale_}, color_,
                    kStroke * scale_, radius * scale_);
  }
  void fill_box(const Rect& r, float radius) {
    const Point corner = at({r.x, r.y});
    canvas_.fill({corner.x, corner.y, r.width * scale_, r.height * scale_}, color_,
                 radius * scale_);
  }
  void fill(std::initializer_list<Point> points) {
    std::vector<Point> placed;
    for (const Point p : points) {
      placed.push_back(at(p));
    }
    canvas_.fill_convex(placed, color_);
  }
  void cross_out(Color behind) {
    const Color color = color_;
    color_ = behind;
    path({{5.4F, 2.4F}, {22, 19}}, false, 2.6F);
    color_ = color;
    path({{3.5F, 3.5F}, {20.5F, 20.5F}});
  }

 private:
  Canvas& canvas_;
  Point origin_;
  float scale_;
  Color color_;
};

void draw_microphone(Pen& pen) {
  pen.fill_box({8.5F, 2.5F, 7, 12}, 3.5F);
  pen.arc({12, 11.5F}, 6.5F, 0, kPi);
  pen.dot({18.5F, 11.5F}, 1);
  pen.dot({5.5F, 11.5F}, 1);
  pen.path({{12, 18}, {12, 21.5F}});
}

void draw_camera(Pen& pen) {
  pen.fill_box({2.5F, 6, 12.5F, 12}, 2.5F);
  pen.fill({{16.2F, 10.8F}, {21.5F, 7.4F}, {21.5F, 16.6F}, {16.2F, 13.2F}});
}

void draw_screen(Pen& pen) {
  pen.box({2.5F, 4, 19, 13}, 2);
  pen.path({{8, 21}, {16, 21}});
  pen.path({{12, 13.5F}, {12, 8}});
  pen.path({{9.5F, 10}, {12, 7.5F}, {14.5F, 10}});
}

void draw_devices(Pen& pen) {
  for (const float y : {6.0F, 12.0F, 18.0F}) {
    pen.path({{3.5F, y}, {20.5F, y}});
  }
  pen.dot({8, 6}, 2.8F);
  pen.dot({16, 12}, 2.8F);
  pen.dot({10, 18}, 2.8F);
}

void draw_chat_sign(Pen& pen) {
  // A balloon with a tail, and two lines in it.
  pen.path({{4.5F, 4},
            {19.5F, 4},
            {21.5F, 6},
            {21.5F, 14.5F},
            {19.5F, 16.5F},
            {11, 16.5F},
            {6.5F, 20.5F},
            {6.5F, 16.5F},
            {4.5F, 16.5F},
            {2.5F, 14.5F},
            {2.5F, 6}},
           true);
  pen.path({{7, 8.5F}, {17, 8.5F}});
  pen.path({{7, 12.3F}, {14, 12.3F}});
}

void draw_hang_up(Pen& pen) {
  // A receiver laid down: an arch with two broad ends.
  pen.arc({12, 19.5F}, 9.6F, 1.22F * kPi, 1.78F * kPi);
  pen.arc({12, 19.5F}, 8, 1.22F * kPi, 1.78F * kPi);
  pen.fill({{2.2F, 13.4F}, {5.2F, 10.9F}, {8, 13.2F}, {7.3F, 16.2F}, {3.4F, 16.8F}});
  pen.fill({{16, 13.2F}, {18.8F, 10.9F}, {21.8F, 13.4F}, {20.6F, 16.8F}, {16.7F, 16.2F}});
}

void draw_corners(Pen& pen, bool outwards) {
  for (const float x : {-1.0F, 1.0F}) {
    for (const float y : {-1.0F, 1.0F}) {
      const float tip = outwards ? 8.0F : 3.0F;
      const float arm = outwards ? 3.2F : 8.2F;
      const Point bend{12 + x * tip, 12 + y * tip};
      pen.path({{12 + x * arm, bend.y}, bend, {bend.x, 12 + y * arm}});
    }
  }
}

void draw_logo(Pen& pen) {
  // A sprig of cress: a stem, two leaves, and a bud.
  pen.path({{12, 22}, {12, 12}});
  pen.dot({12, 5.6F}, 3.4F);
  pen.path({{12, 16.5F}, {8.4F, 13}});
  pen.path({{12, 16.5F}, {15.6F, 13}});
  pen.dot({5.9F, 11}, 3.3F);
  pen.dot({18.1F, 11}, 3.3F);
  pen.path({{12, 12}, {12, 8}});
}

void draw_sun(Pen& pen) {
  pen.circle({12, 12}, 4);
  for (const Point ray : {Point{0, 1},
                          {0, -1},
                          {1, 0},
                          {-1, 0},
                          {.71F, .71F},
                          {-.71F, .71F},
                          {.71F, -.71F},
                          {-.71F, -.71F}}) {
    pen.path({{12 + 7.4F * ray.x, 12 + 7.4F * ray.y}, {12 + 9.4F * ray.x, 12 + 9.4F * ray.y}});
  }
}

void draw_moon(Pen& pen) {
  pen.arc({12, 12}, 8, 0.12F * kPi, 1.38F * kPi);
  pen.arc({16.6F, 7.6F}, 7.4F, 0.32F * kPi, 1.18F * kPi);
}

void draw_speaker(Pen& pen) {
  pen.fill_box({3, 9, 5, 6}, 1);
  pen.fill({{6, 10}, {12, 4.5F}, {12, 19.5F}, {6, 14}});
  pen.arc({12, 12}, 4, -0.3F * kPi, 0.3F * kPi);
  pen.arc({12, 12}, 8, -0.3F * kPi, 0.3F * kPi);
}

void draw_warning(Pen& pen) {
  pen.path({{12, 3.5F}, {21.5F, 20}, {2.5F, 20}}, true);
  pen.path({{12, 10}, {12, 14}});
  pen.dot({12, 17}, 1.2F);
}

void draw_small(Pen& pen, Icon icon) {
  switch (icon) {
    case Icon::kCopy:
      pen.box({8.5F, 8.5F, 12, 12}, 2);
      pen.path({{5, 15.5F}, {3.5F, 15.5F}, {3.5F, 3.5F}, {15.5F, 3.5F}, {15.5F, 5}});
      break;
    case Icon::kCheck:
      pen.path({{4.5F, 12.5F}, {9.5F, 17.5F}, {19.5F, 6.5F}});
      break;
    case Icon::kClose:
      pen.path({{6, 6}, {18, 18}});
      pen.path({{18, 6}, {6, 18}});
      break;
    case Icon::kChevron:
      pen.path({{6, 9}, {12, 15}, {18, 9}});
      break;
    case Icon::kPanel:
      pen.path({{2.5F, 13}, {7, 13}, {10, 5}, {14, 19}, {17, 11}, {21.5F, 11}});
      break;
    case Icon::kSave:
      pen.path({{12, 3}, {12, 14.5F}});
      pen.path({{7, 10}, {12, 15}, {17, 10}});
      pen.path({{3.5F, 16}, {3.5F, 20.5F}, {20.5F, 20.5F}, {20.5F, 16}});
      break;
    case Icon::kPin:
      pen.path({{9, 3}, {15, 3}});
      pen.path({{10, 3}, {9.5F, 10}, {6.5F, 14}, {17.5F, 14}, {14.5F, 10}, {14, 3}});
      pen.path({{12, 14}, {12, 21}});
      break;
    case Icon::kPerson:
      pen.dot({12, 8}, 4.5F);
      pen.arc({12, 21}, 8, -kPi, 0);
      break;
    default:
      break;
  }
}

}  // namespace

void draw_icon(Canvas& canvas, Icon icon, Point center, float size, Color color, Color behind) {
  Pen pen{canvas, center, size, color};
  switch (icon) {
    case Icon::kLogo:
      return draw_logo(pen);
    case Icon::kMicrophone:
      return draw_microphone(pen);
    case Icon::kMicrophoneOff:
      draw_microphone(pen);
      return pen.cross_out(behind);
    case Icon::kCamera:
      return draw_camera(pen);
    case Icon::kCameraOff:
      draw_camera(pen);
      return pen.cross_out(behind);
    case Icon::kSpeaker:
      return draw_speaker(pen);
    case Icon::kScreen:
      return draw_screen(pen);
    case Icon::kScreenOff:
      draw_screen(pen);
      return pen.cross_out(behind);
    case Icon::kDevices:
      return draw_devices(pen);
    case Icon::kFullScreen:
    case Icon::kLeaveFullScreen:
      return draw_corners(pen, icon == Icon::kFullScreen);
    case Icon::kHangUp:
      return draw_hang_up(pen);
    case Icon::kChat:
      return draw_chat_sign(pen);
    case Icon::kSun:
      return draw_sun(pen);
    case Icon::kMoon:
      return draw_moon(pen);
    case Icon::kWarning:
      return draw_warning(pen);
    default:
      return draw_small(pen, icon);
  }
}

}  // namespace cress::ui
