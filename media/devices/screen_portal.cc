#include "media/devices/screen_portal.hh"

#include <gio/gio.h>
#include <libportal/portal.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "media/gst/gst_handles.hh"

namespace cress::media {
namespace {

struct Unref {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(GMainContext* context) const { g_main_context_unref(context); }
  void operator()(GMainLoop* loop) const { g_main_loop_unref(loop); }
  void operator()(GSource* source) const { g_source_unref(source); }
};
template <class T>
using GOwned = std::unique_ptr<T, Unref>;

std::optional<uint32_t> first_node(XdpSession* session) {
  GVariant* streams = xdp_session_get_streams(session);  // a(ua{sv}), the session's
  if (streams == nullptr || g_variant_n_children(streams) == 0) {
    return std::nullopt;
  }
  guint32 node = 0;
  GVariant* about = nullptr;
  g_variant_get_child(streams, 0, "(u@a{sv})", &node, &about);
  g_variant_unref(about);
  return node;
}

}  // namespace

/// libportal calls back on the thread inside: it uses the thread-default context at the time of the
/// call.
class ScreenPortal::Session {
 public:
  explicit Session(std::function<void()> on_closed) : on_closed_(std::move(on_closed)) {}
  ~Session() {
    post([this] {
      close_session();
      if (bus_ != nullptr) {
        g_dbus_connection_signal_unsubscribe(bus_.get(), listening_);
      }
      g_main_loop_quit(loop_.get());
    });
    thread_.join();
  }

  ScreenCast ask() {
    std::promise<ScreenCast> answer;
    std::future<ScreenCast> answered = answer.get_future();
    post([this, &answer] {
      answer_.emplace(std::move(answer));
      begin();
    });
    return answered.get();
  }
  void end() {
    post([this] { close_session(); });
  }
  void cancel() {
    {
      const std::scoped_lock lock{telling_};
      tells_ = false;
    }
    post([this] {
      g_cancellable_cancel(cancelled_.get());
      fail(std::make_exception_ptr(std::runtime_error("it is not wanted any more")));
    });
  }

 private:
  void post(std::function<void()> work) {
    const GOwned<GSource> source{g_idle_source_new()};
    g_source_set_callback(
        source.get(),
        +[](gpointer what) {
          (*static_cast<std::function<void()>*>(what))();
          return G_SOURCE_REMOVE;
        },
        new std::function<void()>(std::move(work)),
        +[](gpointer what) { delete static_cast<std::function<void()>*>(what); });
    g_source_attach(source.get(), context_.get());
  }
  void run() {
    g_main_context_push_thread_default(context_.get());
    g_main_loop_run(loop_.get());
    g_main_context_pop_thread_default(context_.get());
  }

  void begin() {
    close_session();
    if (g_cancellable_is_cancelled(cancelled_.get()) != 0) {
      refuse(nullptr);
      return;
    }
    GError* error = nullptr;
    if (portal_ == nullptr && !reach_portal(&error)) {
      fail(std::make_exception_ptr(std::runtime_error(
          "there is no session bus to ask the desktop's portal by (" + take_words(error) + ")")));
      return;
    }
    xdp_portal_create_screencast_session(
        portal_.get(), static_cast<XdpOutputType>(XDP_OUTPUT_MONITOR | XDP_OUTPUT_WINDOW),
        XDP_SCREENCAST_FLAG_NONE, XDP_CURSOR_MODE_EMBEDDED, XDP_PERSIST_MODE_NONE, nullptr,
        cancelled_.get(),
        +[](GObject*, GAsyncResult* result, gpointer self) {
          static_cast<Session*>(self)->handle_created(result);
        },
        this);
  }
  // Without a bus libportal would never answer.
  bool reach_portal(GError** error) {
    bus_.reset(g_bus_get_sync(G_BUS_TYPE_SESSION, nullptr, error));
    if (bus_ == nullptr) {
      return false;
    }
    g_dbus_connection_set_exit_on_close(bus_.get(),
                                        FALSE);  // the end of a bus must not end the process
    portal_.reset(xdp_portal_new());
    listen();
    return true;
  }
  void handle_created(GAsyncResult* result) {
    GError* error = nullptr;
    session_.reset(xdp_portal_create_screencast_session_finish(portal_.get(), result, &error));
    if (session_ == nullptr || !answer_) {
      refuse(error);
      return;
    }
    xdp_session_start(
        session_.get(), nullptr, cancelled_.get(),
        +[](GObject*, GAsyncResult* started, gpointer self) {
          static_cast<Session*>(self)->handle_started(started);
        },
        this);
  }
  void handle_started(GAsyncResult* result) {
    GError* error = nullptr;
    if (session_ == nullptr || xdp_session_start_finish(session_.get(), result, &error) == 0) {
      refuse(error);
      return;
    }
    const auto node = first_node(session_.get());
    pipewire_fd_ = node ? xdp_session_open_pipewire_remote(session_.get()) : -1;
    if (pipewire_fd_ < 0) {
      fail(std::make_exception_ptr(
          std::runtime_error("the desktop's portal shares nothing; is PipeWire running?")));
      return;
    }
    answer_->set_value({pipewire_fd_, *node});
    answer_.reset();
  }
  void refuse(GError* error) {
    const bool declined = g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) != 0;
    const std::string why = take_words(error);
    fail(declined ? std::make_exception_ptr(ScreenDeclined{"it was not allowed"})
                  : std::make_exception_ptr(std::runtime_error(
                        "the desktop's portal does not share it (" + why +
                        "); is xdg-desktop-portal with a back end for this desktop installed?")));
  }
  void fail(std::exception_ptr why) {
    close_session();
    if (answer_) {
      answer_->set_exception(std::move(why));
      answer_.reset();
    }
  }
  // The portal broadcasts which session has ended, and libportal (0.6) only receives signals
  // addressed to it. Sessions are named after their requester.
  void listen() {
    std::string own = g_dbus_connection_get_unique_name(bus_.get());
    own.erase(0, 1);  // ':'
    std::ranges::replace(own, '.', '_');
    own_sessions_ = "/org/freedesktop/portal/desktop/session/" + own + "/";
    listening_ = g_dbus_connection_signal_subscribe(
        bus_.get(), "org.freedesktop.portal.Desktop", "org.freedesktop.portal.Session", "Closed",
        nullptr, nullptr, G_DBUS_SIGNAL_FLAGS_NONE,
        +[](GDBusConnection*, const char*, const char* path, const char*, const char*, GVariant*,
            gpointer self) { static_cast<Session*>(self)->handle_closed(path); },
        this, nullptr);
  }
  void handle_closed(const std::string& path) {
    const std::scoped_lock lock{telling_};
    if (tells_ && session_ != nullptr && path.starts_with(own_sessions_)) {
      on_closed_();
    }
  }
  void close_session() {
    if (session_ != nullptr) {
      xdp_session_close(session_.get());
      session_.reset();
    }
    if (pipewire_fd_ >= 0) {
      close(std::exchange(pipewire_fd_, -1));
    }
  }

  const std::function<void()> on_closed_;
  std::mutex telling_;
  bool tells_ = true;
  GOwned<GMainContext> context_{g_main_context_new()};
  GOwned<GMainLoop> loop_{g_main_loop_new(context_.get(), FALSE)};
  GOwned<GCancellable> cancelled_{g_cancellable_new()};
  // Used only by the thread inside.
  GOwned<GDBusConnection> bus_;
  guint listening_ = 0;
  GOwned<XdpPortal> portal_;
  GOwned<XdpSession> session_;
  std::string own_sessions_;  // begin so
  int pipewire_fd_ = -1;
  std::optional<std::promise<ScreenCast>> answer_;  // while a caller waits for it
  std::thread thread_{[this] { run(); }};           // last: all members exist when it starts
};

ScreenPortal::ScreenPortal(std::function<void()> on_closed)
    : session_(std::make_unique<Session>(std::move(on_closed))) {}
ScreenPortal::~ScreenPortal() = default;

ScreenCast ScreenPortal::ask() { return session_->ask(); }
void ScreenPortal::end() { session_->end(); }
void ScreenPortal::cancel() { session_->cancel(); }

}  // namespace cress::media
