package main

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// ledgerWait is how long the ledger of a killed start may take to notice that and to end; it takes milliseconds. One that
// was killed as well never does.
const ledgerWait = time.Second

// recall fills an empty book with what earlier starts of the run have left: what ax has acknowledged, and what the service
// was asked for.
func (b *book) recall(h *home, w workload) error {
	noted := make([]*note, w.total)
	for i := range h.notes.read {
		n := &h.notes.read[i]
		for at := n.first; at < n.first+n.n; at++ {
			noted[at] = n
		}
	}
	i := 0
	for sub := range w.tasks {
		b.enter(sub, noted[i])
		i++
	}
	ledgers, _ := h.ledgers()
	for i, name := range ledgers {
		text, err := readLedger(name, i == len(ledgers)-1)
		if err != nil {
			return err
		}
		if err := b.readPast(text); err != nil {
			return fmt.Errorf("%s: %w: -fresh begins anew, without what was there", name, err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.base = sample{done: b.done, late: len(b.late)}
	return nil
}

// readPast notes all that the ledger of one start says.
func (b *book) readPast(text []byte) error {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if err := b.line(string(line)); err != nil {
			return err
		}
	}
	b.next()
	return nil
}

// readLedger reads the ledger of an earlier start, without a line that was being written when the machine stopped. The
// latest one may be still at it: it is waited for until it says that it has ended.
func readLedger(name string, latest bool) ([]byte, error) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for limit := time.Now().Add(ledgerWait); ; <-tick.C {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		last := text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
		if !latest || bytes.HasPrefix(last, []byte("ended ")) || time.Now().After(limit) {
			return text, nil
		}
	}
}
