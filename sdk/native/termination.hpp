// SIGTERM: the recorder thread writes everything out, then the signal does what it would have done.
// Works also while the main thread is inside a library call, where no Python handler would run.
#pragma once

namespace tracemill {

// Takes SIGTERM over if it has the default action, and only then.
void watch_termination();
// Gives it back, unless somebody else has taken it over meanwhile.
void unwatch_termination();
// Whether `watch_termination` holds the signal.
bool watches_termination();
// Whether the signal has arrived.
bool termination_requested();
// Ends the process as the signal would have done.
void terminate_as_requested();

}  // namespace tracemill
