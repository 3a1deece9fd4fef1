#include "app/ui/kit/controls.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::ui {

const Control* Controls::find(const std::string& id) const {
  const auto found = std::ranges::find(last_.controls, id, &Control::id);
  return found == last_.controls.end() ? nullptr : &*found;
}

const Control* Controls::at(Point at) const {
  for (size_t i = last_.controls.size(); i-- > 0;) {
    if (last_.reaches(i) && last_.controls[i].rect.contains(at)) {
      return last_.controls[i].enabled ? &last_.controls[i] : nullptr;
    }
  }
  return nullptr;
}

const Control* Controls::focused() const { return focused_.empty() ? nullptr : find(focused_); }

void Controls::handle_move(TimePoint now, Point at) {
  pointer_ = at;
  const Control* control = hovered();
  const std::string id = control != nullptr ? control->id : "";
  if (id != over_) {
    over_ = id;
    rests_since_ = now;
    tip_used_ = false;
  }
}

void Controls::handle_leave() {
  pointer_.reset();
  over_.clear();
}

void Controls::handle_press(TimePoint now, Point at) {
  handle_move(now, at);
  ring_ = false;
  tip_used_ = true;
  const Control* control = hovered();
  if (control == nullptr) {
    if (last_.modal_area && !last_.modal_area->contains(at)) {
      dismissed_ = true;
    } else if (!last_.modal_area) {
      focused_.clear();
    }
    return;
  }
  held_ = control->id;
  focused_ = control->id;
}

void Controls::handle_release(Point at) {
  pointer_ = at;
  const Control* control = hovered();
  if (control != nullptr && control->id == held_) {
    activated_ = held_;
  }
  held_.clear();
}

void Controls::move_focus(TimePoint now, bool backwards) {
  std::vector<const Control*> order;
  for (size_t i = 0; i < last_.controls.size(); ++i) {
    if (last_.reaches(i) && last_.controls[i].enabled) {
      order.push_back(&last_.controls[i]);
    }
  }
  if (order.empty()) {
    return;
  }
  const auto here =
      std::ranges::find_if(order, [this](const Control* c) { return c->id == focused_; });
  size_t next = backwards ? order.size() - 1 : 0;
  if (here != order.end()) {
    const auto index = static_cast<size_t>(here - order.begin());
    next = (index + (backwards ? order.size() - 1 : 1)) % order.size();
  }
  focused_ = order[next]->id;
  ring_ = true;
  rests_since_ = now;
  tip_used_ = false;
}

void Controls::press_focused() {
  const Control* control = focused();
  if (control != nullptr && control->enabled) {
    activated_ = focused_;
    tip_used_ = true;
  }
}

void Controls::handle_arrow(TimePoint now, Point direction) {
  if (is_modal()) {
    if (direction.y != 0) {
      move_focus(now, direction.y < 0);
    }
    return;
  }
  arrow_ = direction;
}

void Controls::set_focus(const std::string& id, bool ring) {
  focused_ = id;
  ring_ = ring;
}

void Controls::clear_focus() {
  focused_.clear();
  ring_ = false;
}

void Controls::begin_frame() {
  next_.controls.clear();
  next_.modal_from = 0;
  next_.modal_area.reset();
}

void Controls::begin_modal(const Rect& area) {
  next_.modal_from = next_.controls.size();
  next_.modal_area = area;
}

ControlState Controls::add(Control control) {
  check(next_.controls.size() < kControlsMax, "Controls: too many");
  check(std::ranges::find(next_.controls, control.id, &Control::id) == next_.controls.end(),
        "Controls: an id twice");
  ControlState state;
  const Control* over = hovered();
  const bool same_layer = last_.modal_area.has_value() == next_.modal_area.has_value();
  state.hovered = control.enabled && same_layer && over != nullptr && over->id == control.id &&
                  pointer_ && control.rect.contains(*pointer_);
  state.held = control.enabled && held_ == control.id;
  state.focused = focused_ == control.id;
  state.shows_ring = state.focused && ring_;
  if (activated_ == control.id) {
    state.activated = control.enabled;
    activated_.clear();
  }
  if (state.focused && control.kind == Control::Kind::kDrag) {
    state.arrow = std::exchange(arrow_, Point{});
  }
  next_.controls.push_back(std::move(control));
  return state;
}

void Controls::end_frame() {
  const bool was_modal = is_modal();
  std::swap(last_, next_);
  // A control that no longer exists cannot be activated by an earlier click.
  activated_.clear();
  arrow_ = {};
  if (!held_.empty() && find(held_) == nullptr) {
    held_.clear();
  }
  if (!was_modal && is_modal()) {
    focused_below_ = focused_;
  }
  if (is_modal() && ring_) {
    const auto reached = [this](size_t i) {
      return last_.controls[i].id == focused_ && last_.reaches(i);
    };
    bool inside = false;
    for (size_t i = 0; i < last_.controls.size(); ++i) {
      inside = inside || reached(i);
    }
    if (!inside && last_.modal_from < last_.controls.size()) {
      focused_ = last_.controls[last_.modal_from].id;
    }
  }
  if (was_modal && !is_modal()) {
    focused_ = std::exchange(focused_below_, {});
  }
}

bool Controls::take_dismissed() { return std::exchange(dismissed_, false); }

const Control* Controls::tip_candidate() const {
  if (tip_used_ || is_holding()) {
    return nullptr;
  }
  const Control* control = ring_ ? focused() : hovered();
  return control != nullptr && !control->tip.empty() ? control : nullptr;
}

const Control* Controls::tip_at(TimePoint now) const {
  return now - rests_since_ >= kTipDelay ? tip_candidate() : nullptr;
}

TimePoint Controls::tip_due(TimePoint now) const {
  return tip_candidate() != nullptr && now - rests_since_ < kTipDelay ? rests_since_ + kTipDelay
                                                                      : kNever;
}

}  // namespace cress::ui
