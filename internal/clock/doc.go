// Package clock judges readings of the machine's clocks: it tells a step of the wall clock and a suspend from time passing.
//
// # Model
//
// The owner reads three clocks close together and hands the reading to a Guard, which compares it with the one before:
//
//	Wall   since 1970 UTC               can be set, slewed and stepped     absolute times and cron follow it
//	Boot   elapsed, suspend included    runs on at its own pace            relative delays follow it
//	Mono   elapsed, suspend excluded    stands still while suspended       only for telling a suspend
//
//	Suspend   Boot ran more than 100 ms further than Mono
//	Step      Wall and Boot ran apart by more than 100 ms + 500 ppm of what Boot ran, or Wall ran backwards at all
//
// 500 ppm is the most by which adjtime and the kernel's NTP discipline slew, so slewing is no step. What stays below the
// threshold is summed up as Stats.Drift. A faster slew (chrony can do 8 %) is reported as a series of steps, rightly: due
// times move by as much.
//
// The package is pure: it reads no clock, starts nothing, and allocates only when there is something to report.
//
// # Guaranteed
//
//   - Now.Boot never runs backwards.
//   - Whenever Now.Wall is lower than the time before, a Step comes with it, unless SetOffset was the cause.
//   - No reading, however absurd, overflows: differences and sums saturate.
//
// # Not guaranteed
//
//   - Steps and suspends of up to 100 ms, or that cancel out between two readings, are not seen.
//   - If the reader is held up between its three reads, the gap looks like a step or a suspend, and the next reading takes it
//     back. A reader should read again when its reads took long.
//   - Where the machine has no Boot clock and Mono is given for both, a suspend is seen as a Step forwards.
//
// # How it fails
//
// A Boot clock that runs backwards (a process restored on another machine) is counted in Stats.Anomalies, and Now.Boot stands
// still until it has caught up: relative delays come late, never early. Over such an interval, and one in which Mono ran
// backwards, only what can still be told is judged.
package clock
