package sim

import "github.com/axsched/ax/internal/clock"

// machine is the clocks of one computer.
type machine struct {
	tag    uint32 // of this boot
	from   int64  // true time since when ppm holds
	boot   int64  // what the boot clock read then
	ppm    int64  // how much too fast both clocks run, in millionths
	offset int64  // wall clock less boot clock, less what is right at the start
	slept  int64  // how long it was suspended
	wall   int64  // what the wall clock read at from, without the offset
}

// newMachine has been up for some days, and its clocks are a little off.
func newMachine(w *world, id int) machine {
	return machine{tag: uint32(100 * id), from: epoch, boot: 3e11 + w.pick(1e11, "boot", "", uint64(id)),
		ppm: w.pick(201, "ppm", "", uint64(id)) - 100, offset: w.pick(100_001, "offset", "", uint64(id)) - 50_000, wall: epoch}
}

func (m *machine) read(now int64) clock.Reading {
	ran := now - m.from
	ran += ran * m.ppm / 1_000_000
	return clock.Reading{Wall: m.wall + ran + m.offset, Boot: m.boot + ran, Mono: m.boot + ran - m.slept}
}

// drift changes the speed of the clocks from now on.
func (m *machine) drift(now, ppm int64) {
	r := m.read(now)
	m.boot, m.wall, m.from, m.ppm = r.Boot, r.Wall-m.offset, now, ppm
}

// reboot starts the boot clock anew.
func (m *machine) reboot(now int64) {
	m.drift(now, m.ppm)
	m.tag, m.boot, m.slept = m.tag+1, 5_000_000, 0
}
