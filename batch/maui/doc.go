// Package maui decides as the Maui scheduler 3.3.1 does: one call of
// Scheduler.Iterate is one of its iterations, with node names, reservations on
// named nodes, backfill windows, throttling, fair share, QOS and preemption.
// It is pure: what the resource manager says goes in, what it is told to do
// comes out. Its rules follow the administrator's guide (chapters 5 to 8),
// where Maui's conduct differs from that its conduct, shown by recorded
// decisions (see TestMauiScenes of the package above).
package maui

// never is later than any time.
const never = int64(1) << 61

// combinations bounds the sets of jobs GREEDY looks at in one pass.
const combinations = 2000
