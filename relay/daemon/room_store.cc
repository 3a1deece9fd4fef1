#include "relay/daemon/room_store.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "transport/base/file_descriptor.hh"
#include "transport/secure/link/link.hh"

namespace cress::relay {
namespace {

constexpr int kLayout = 1;
// Two writers at once are two users at two terminals: neither waits long.
constexpr int kBusyMs = 2000;

constexpr const char* kTables =
    "CREATE TABLE rooms ("
    " name TEXT PRIMARY KEY NOT NULL,"
    " access BLOB NOT NULL UNIQUE,"
    " members_max INTEGER,"
    " created INTEGER NOT NULL,"
    " expires INTEGER) STRICT, WITHOUT ROWID;"
    "CREATE TABLE kicks (name TEXT NOT NULL, member INTEGER NOT NULL) STRICT;"
    "PRAGMA user_version = 1;";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

}  // namespace

class RoomStore::Impl {
 public:
  Impl(const std::filesystem::path& file, Open open) : file_(file.string()) {
    if (open == Open::kExisting && !std::filesystem::exists(file)) {
      throw std::runtime_error(
          fmt::format("{}: no such room file; `room create` makes one", file_));
    }
    make_private(open == Open::kForRelay);
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(file_.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
    database_.reset(database);
    expect(opened);
    sqlite3_busy_timeout(database, kBusyMs);
    run("PRAGMA journal_mode = WAL;");
    run("PRAGMA synchronous = FULL;");
    run("BEGIN IMMEDIATE;");
    const int64_t layout = number("PRAGMA user_version;");
    if (layout == 0) {
      run(kTables);
    }
    run("COMMIT;");
    if (layout > kLayout) {
      throw std::runtime_error(
          fmt::format("{}: written by a newer cress-relay (layout {}); use that, or another file",
                      file_, layout));
    }
  }

  /// One statement and its parameters, from 1.
  class Statement {
   public:
    Statement(const Impl& store, const char* sql) : store_(store) {
      sqlite3_stmt* statement = nullptr;
      store.expect(sqlite3_prepare_v2(store.database_.get(), sql, -1, &statement, nullptr));
      statement_.reset(statement);
    }
    Statement& text(int at, std::string_view value) {
      store_.expect(sqlite3_bind_text(statement_.get(), at, value.data(),
                                      static_cast<int>(value.size()), SQLITE_TRANSIENT));
      return *this;
    }
    Statement& blob(int at, std::span<const std::byte> value) {
      store_.expect(sqlite3_bind_blob(statement_.get(), at, value.data(),
                                      static_cast<int>(value.size()), SQLITE_TRANSIENT));
      return *this;
    }
    Statement& number(int at, int64_t value) {
      store_.expect(sqlite3_bind_int64(statement_.get(), at, value));
      return *this;
    }
    /// False: there are no more rows.
    bool step() {
      const int result = sqlite3_step(statement_.get());
      if (result != SQLITE_ROW && result != SQLITE_DONE) {
        store_.expect(result);
      }
      return result == SQLITE_ROW;
    }
    std::string text(int column) const {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
      return bytes == nullptr ? std::string{} : std::string{bytes, size};
    }
    std::optional<int64_t> number(int column) const {
      return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL
                 ? std::nullopt
                 : std::optional{sqlite3_column_int64(statement_.get(), column)};
    }

   private:
    const Impl& store_;
    std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  };

  /// The number that `sql` always gives.
  int64_t number(const char* sql) const {
    Statement statement{*this, sql};
    statement.step();
    return statement.number(0).value();
  }
  int64_t changes() const { return sqlite3_changes64(database_.get()); }
  const std::string& file() const { return file_; }

 private:
  // Before SQLite opens it, which would use the umask's permissions. An existing file is not opened
  // here: closing it would drop the locks of this process's other connections to it (POSIX), and
  // another program would then take their log away.
  void make_private(bool for_relay) {
    const int descriptor = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    struct stat status {};
    if ((descriptor < 0 && errno != EEXIST) || ::access(file_.c_str(), R_OK | W_OK) != 0 ||
        ::stat(file_.c_str(), &status) != 0) {
      throw std::runtime_error(fmt::format("{}: cannot be opened for writing: {}", file_,
                                           std::generic_category().message(errno)));
    }
    if (!S_ISREG(status.st_mode)) {
      throw std::runtime_error(fmt::format("{}: cannot be opened for writing: not a file", file_));
    }
    if ((status.st_uid != geteuid() && status.st_uid != 0) ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      throw std::runtime_error(fmt::format(
          "{}: others may read or change it, and so join; it must be yours, with mode 600", file_));
    }
    if (for_relay) {
      lock();
    }
  }
  // SQLite's own locks are of another kind; this one says nothing to `room create`. The file stays
  // open: see above.
  void lock() {
    lock_ = FileDescriptor{::open(file_.c_str(), O_RDWR | O_CLOEXEC)};
    if (lock_.get() < 0 || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      throw std::runtime_error(
          fmt::format("{}: another relay uses it; `rooms` gives each its own file", file_));
    }
  }
  void expect(int result) const {
    switch (result & 0xff) {
      case SQLITE_OK:
        return;
      case SQLITE_BUSY:
        throw std::runtime_error(fmt::format(
            "{}: another program has kept it locked for {} s; try again", file_, kBusyMs / 1000));
      case SQLITE_FULL:
        throw std::runtime_error(fmt::format("{}: the disk is full; nothing was changed", file_));
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT:
        throw std::runtime_error(fmt::format(
            "{}: is not a room file, or is damaged; put a backup in its place, or move it away "
            "and create the rooms anew",
            file_));
      default:
        throw std::runtime_error(fmt::format(
            "{}: {}", file_, database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(result)));
    }
  }
  void run(const char* sql) const {
    expect(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
  }

  std::string file_;
  FileDescriptor lock_{
      -1};  // closed after the database: closing it drops the process's other locks
  Database database_;
};

RoomStore::RoomStore(const std::filesystem::path& file, Open open)
    : impl_(std::make_unique<Impl>(file, open)) {}
RoomStore::~RoomStore() = default;

bool RoomStore::create(const StoredRoom& room) {
  Impl::Statement statement{*impl_,
                            "INSERT INTO rooms (name, access, created, members_max, expires) "
                            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING"};
  statement.text(1, room.door.name).blob(2, room.door.access.bytes()).number(3, room.created);
  if (room.door.members_max) {  // a value not given is NULL
    statement.number(4, static_cast<int64_t>(*room.door.members_max));
  }
  if (room.expires) {
    statement.number(5, *room.expires);
  }
  statement.step();
  return impl_->changes() > 0;
}

bool RoomStore::remove(const std::string& name) {
  Impl::Statement{*impl_, "DELETE FROM rooms WHERE name = ?"}.text(1, name).step();
  return impl_->changes() > 0;
}

std::vector<StoredRoom> RoomStore::rooms() const {
  std::vector<StoredRoom> rooms;
  Impl::Statement statement{
      *impl_, "SELECT name, access, members_max, created, expires FROM rooms ORDER BY name"};
  while (statement.step()) {
    StoredRoom room{
        .door = {}, .created = statement.number(3).value_or(0), .expires = statement.number(4)};
    room.door.name = statement.text(0);
    const std::string access = statement.text(1);
    const auto members_max = statement.number(2);
    // The file may have been edited by hand.
    if (!secure::is_room_name(room.door.name) || access.size() != secure::Secret::kSize ||
        members_max.value_or(1) < 1) {
      throw std::runtime_error(
          fmt::format("{}: the entry of room \"{}\" makes no sense; remove it by `cress-relay room "
                      "close`, or put a backup in the file's place",
                      impl_->file(), room.door.name));
    }
    std::ranges::transform(access, room.door.access.bytes().begin(),
                           [](char c) { return static_cast<std::byte>(c); });
    if (members_max) {
      room.door.members_max = static_cast<size_t>(*members_max);
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

void RoomStore::ask_to_kick(const std::string& name, room::MemberNumber member) {
  Impl::Statement{*impl_, "INSERT INTO kicks (name, member) VALUES (?, ?)"}
      .text(1, name)
      .number(2, member)
      .step();
}

std::vector<std::pair<std::string, room::MemberNumber>> RoomStore::take_kicks() {
  std::vector<std::pair<std::string, room::MemberNumber>> kicks;
  Impl::Statement statement{*impl_, "DELETE FROM kicks RETURNING name, member"};
  while (statement.step()) {
    kicks.emplace_back(statement.text(0), static_cast<room::MemberNumber>(
                                              statement.number(1).value_or(room::kNobody)));
  }
  return kicks;
}

int64_t RoomStore::version() const { return impl_->number("PRAGMA data_version"); }

}  // namespace cress::relay
