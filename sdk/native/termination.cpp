#include "termination.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace tracemill {

namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");
std::atomic<bool> g_requested{false};
std::atomic<bool> g_watching{false};

void restore_default() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &action, nullptr);
}

extern "C" void on_termination(int signal_number) {
  if (g_requested.exchange(true)) {  // asked twice: at once
    restore_default();
    raise(signal_number);
  }
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == on_termination;
}

}  // namespace

void watch_termination() {
  struct sigaction current {};
  if (sigaction(SIGTERM, nullptr, &current) != 0) return;
  if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = on_termination;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  g_requested.store(false);
  g_watching.store(sigaction(SIGTERM, &action, nullptr) == 0);
}

void unwatch_termination() {
  struct sigaction current {};
  if (!g_watching.exchange(false)) return;
  if (sigaction(SIGTERM, nullptr, &current) == 0 && is_ours(current)) restore_default();
}

bool watches_termination() { return g_watching.load(std::memory_order_relaxed); }

bool termination_requested() { return g_requested.load(std::memory_order_relaxed); }

void terminate_as_requested() {
  unwatch_termination();
  g_requested.store(false);
  kill(getpid(), SIGTERM);
}

}  // namespace tracemill
