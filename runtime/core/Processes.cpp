//===- Processes.cpp - the processes that run a model together ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Processes.h"
#include "core/Sockets.h"
#include "core/Sync.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

using namespace tsp::runtime;

constexpr uint64_t largestFrame = uint64_t(1) << 32;

void Processes::connectToFirst(double timeoutSeconds) {
  std::string reason;
  int socket = connectTo(launch.host, launch.port, timeoutSeconds, reason);
  if (socket < 0)
    throw Error(format("process %lld of %lld cannot reach process 0 at %s:%d "
                       "within %g s: %s",
                       (long long)launch.index, (long long)launch.count,
                       launch.host.c_str(), launch.port, timeoutSeconds,
                       reason.c_str()));
  lines[0] = std::make_unique<Line>();
  lines[0]->socket = socket;
  sayHello(socket, launch.index);
}

void Processes::acceptAll(double timeoutSeconds, int listening) {
  int port = launch.port;
  if (listening < 0)
    listening = listenOn(port);
  try {
    acceptProcesses(listening, count() - 1, timeoutSeconds,
                    [&](int64_t process, int socket) {
                      if (process < 1 || process >= count() || lines[process])
                        return false;
                      lines[process] = std::make_unique<Line>();
                      lines[process]->socket = socket;
                      return true;
                    });
  } catch (const Error &error) {
    throw Error(format("port %d of process 0: %s", port, error.what()));
  }
}

Processes::Processes(const ProcessLaunch &launch, double timeoutSeconds,
                     int listening)
    : launch(launch), lines(launch.count) {
  if (launch.index == 0)
    acceptAll(timeoutSeconds, listening);
  else
    connectToFirst(timeoutSeconds);
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(format("cannot make a pipe: %s", strerror(errno)));
  thread = std::thread([this] { loop(); });
}

Processes::~Processes() {
  stop.store(true);
  if (write(wake[1], "", 1) < 0)
    stop.store(true); // a full pipe wakes as well
  thread.join();
  for (auto &line : lines)
    if (line)
      close(line->socket);
  close(wake[0]);
  close(wake[1]);
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void Processes::send(int64_t process, Kind kind, const std::string &data) {
  Line &line = *lines[process];
  std::lock_guard<std::mutex> lock(line.sending);
  writeFrame(line.socket, kind, data);
}

/// To all other processes that still listen.
void Processes::sendAll(Kind kind, const std::string &data, int64_t except) {
  for (size_t process = 0; process < lines.size(); ++process) {
    if (!lines[process] || int64_t(process) == except)
      continue;
    try {
      send(int64_t(process), kind, data);
    } catch (const Error &) {
      // Its own end of the line says what happened to it.
    }
  }
}

void Processes::loop() {
  const int64_t interval = 200000000;
  int64_t nextReport = nowNs() + interval;
  while (!stop.load()) {
    std::vector<pollfd> waiting = {{wake[0], POLLIN, 0}};
    std::vector<int64_t> who = {-1};
    for (size_t process = 0; process < lines.size(); ++process)
      if (lines[process] && !lines[process]->closed) {
        waiting.push_back({lines[process]->socket, POLLIN, 0});
        who.push_back(int64_t(process));
      }
    int64_t left = std::max<int64_t>(0, nextReport - nowNs());
    poll(waiting.data(), waiting.size(), int(left / 1000000) + 1);
    for (size_t i = 1; i < waiting.size(); ++i)
      if (waiting[i].revents && !readLine(who[i])) {
        Line &line = *lines[who[i]];
        line.closed = true;
        if (!line.bye)
          note(lostText(who[i]), who[i]);
      }
    if (nowNs() < nextReport)
      continue;
    nextReport = nowNs() + interval;
    report();
  }
}

/// Hands the own report to process 0.
void Processes::report() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!events.report || hasFailed.load())
    return;
  std::string text = events.report();
  lock.unlock();
  if (index() == 0)
    handle(0, Report, text);
  else
    sendAll(Report, text, -1);
}

std::string Processes::lostText(int64_t process) {
  std::lock_guard<std::mutex> lock(mutex);
  return events.lost ? events.lost(process)
                     : format("process %lld ended without a word (killed?)",
                              (long long)process);
}

/// Reads what has come; false at the end of the line.
bool Processes::readLine(int64_t process) {
  Line &line = *lines[process];
  char buffer[65536];
  ssize_t got = recv(line.socket, buffer, sizeof(buffer), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return true;
  if (got <= 0)
    return false;
  line.received.append(buffer, size_t(got));
  size_t begin = 0;
  FrameHeader header;
  while (line.received.size() - begin >= sizeof(header)) {
    memcpy(&header, line.received.data() + begin, sizeof(header));
    if (header.magic != FrameHeader::ours || header.bytes > largestFrame)
      return false;
    if (line.received.size() - begin - sizeof(header) < header.bytes)
      break;
    handle(process, Kind(header.kind),
           line.received.substr(begin + sizeof(header), header.bytes));
    begin += sizeof(header) + header.bytes;
  }
  line.received.erase(0, begin);
  return true;
}

void Processes::handle(int64_t process, Kind kind, std::string data) {
  if (kind == Abort)
    return note(data, process);
  std::unique_lock<std::mutex> lock(mutex);
  if (kind == Data)
    lines[process]->data.push_back(std::move(data));
  else if (kind == Bye)
    lines[process]->bye = true;
  else if (kind == Report && events.reported && !hasFailed.load()) {
    std::string wrong = events.reported(process, data);
    lock.unlock();
    if (!wrong.empty())
      note(wrong, -1);
  }
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Keeps the first error; process 0 tells it to the others.
void Processes::note(const std::string &text, int64_t from) {
  std::lock_guard<std::mutex> handled(handling);
  std::function<void(const std::string &)> handler;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (hasFailed.load())
      return;
    message = text;
    hasFailed.store(true);
    handler = events.failed;
    changed.notify_all();
  }
  if (index() == 0)
    sendAll(Abort, text, from);
  announced();
  if (handler)
    handler(text);
}

/// The others have been told.
void Processes::announced() {
  std::lock_guard<std::mutex> lock(mutex);
  isAnnounced = true;
  changed.notify_all();
}

/// A process that ended before its first error is on its way would look killed
/// to the others: whoever finds a later one waits for that.
void Processes::waitForAnnouncement(std::unique_lock<std::mutex> &lock) {
  changed.wait_for(lock, std::chrono::seconds(2), [&] { return isAnnounced; });
}

void Processes::fail(const std::string &text) {
  {
    std::unique_lock<std::mutex> lock(mutex);
    if (hasFailed.load())
      return waitForAnnouncement(lock);
    message = text;
    hasFailed.store(true);
    changed.notify_all();
  }
  sendAll(Abort, text, -1);
  announced();
}

std::string Processes::error() {
  std::unique_lock<std::mutex> lock(mutex);
  if (hasFailed.load())
    waitForAnnouncement(lock);
  return message;
}

void Processes::watch(Events newEvents) {
  std::unique_lock<std::mutex> lock(mutex);
  events = std::move(newEvents);
  if (!hasFailed.load() || !events.failed)
    return;
  auto handler = events.failed;
  std::string text = message;
  lock.unlock();
  handler(text);
}

void Processes::unwatch() {
  std::lock_guard<std::mutex> handled(handling);
  std::lock_guard<std::mutex> lock(mutex);
  events = Events();
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

std::string Processes::receive(int64_t process) {
  Line &line = *lines[process];
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return hasFailed.load() || !line.data.empty(); });
  if (line.data.empty())
    throw Error(message);
  std::string result = std::move(line.data.front());
  line.data.pop_front();
  return result;
}

void Processes::sendToFirst(const std::string &data) { send(0, Data, data); }

void Processes::broadcast(std::string &data) {
  if (index() == 0)
    sendAll(Data, data, -1);
  else
    data = receive(0);
}

std::vector<std::string> Processes::gather(const std::string &mine) {
  if (index() > 0) {
    send(0, Data, mine);
    return {};
  }
  std::vector<std::string> result = {mine};
  for (int64_t process = 1; process < count(); ++process)
    result.push_back(receive(process));
  return result;
}

void Processes::finish() {
  // All say that they are done, then hear that all are. Process 0 has looked
  // at everybody's last report by then.
  report();
  std::string done;
  gather(done);
  broadcast(done);
  sendAll(Bye, "", -1);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] {
    bool all = true;
    for (const auto &line : lines)
      all &= !line || line->bye;
    return all || hasFailed.load();
  });
  if (hasFailed.load())
    throw Error(message);
}

std::string Processes::address() const {
  return index() == 0 ? "" : localAddress(lines[0]->socket);
}
