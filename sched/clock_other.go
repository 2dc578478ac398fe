//go:build !linux

package sched

import "time"

var started = time.Now()

// bootTime counts from the start of the process, on Go's monotonic clock: there is no portable boot-time clock here.
// What is lost: a relative delay is late by the time the machine was suspended, where the monotonic clock stops for it,
// and after a restart of the process it follows the wall clock.
func bootTime() int64 { return time.Since(started).Microseconds() }

func bootTag() uint32 { return processTag() }
