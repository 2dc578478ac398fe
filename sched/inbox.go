package sched

import (
	"context"
	"errors"
	"time"

	"github.com/axsched/ax"
)

// readInbox brings what others have put into a partition's inbox to the loop, until another token has opened it. A watch
// is a hint; looking is the truth.
func (s *Scheduler) readInbox(ctx context.Context, p ax.Partition, token ax.Token) {
	hint := make(<-chan struct{})
	look := 200 * time.Millisecond // without a watch
	if w, ok := s.cfg.Store.(ax.InboxWatcher); ok {
		if c, err := w.WatchInbox(ctx, p); err == nil {
			hint, look = c, 5*time.Second
		}
	}
	tick := make(chan struct{}, 1) // holds one: ticks coalesce
	alarm := s.cfg.Clock.NewTimer(func() {
		select {
		case tick <- struct{}{}:
		default: // coalesces
		}
	})
	defer alarm.Stop()
	for {
		quiet, fenced := s.walkInbox(ctx, p, token)
		if fenced {
			return
		}
		if quiet != nil {
			select {
			case <-quiet:
			case <-ctx.Done():
				return
			}
		}
		alarm.Reset(look)
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case _, open := <-hint:
			if !open {
				hint = nil
			}
		}
	}
}

// walkInbox posts all that is in an inbox to the loop. What it returns, if anything was there, is closed once all of it
// is committed.
func (s *Scheduler) walkInbox(ctx context.Context, p ax.Partition, token ax.Token) (quiet chan struct{}, fenced bool) {
	req := ax.ScanRequest{Partition: p, Token: token, Index: ax.IndexInbox}
	for found := false; ; {
		page, err := s.cfg.Store.Scan(ctx, req)
		if err != nil { // away for a moment: the loop finds out by its writes
			page, fenced = ax.Page{}, errors.Is(err, ax.ErrFenced)
		}
		found = found || len(page.Entries) > 0
		if found && page.Next == "" {
			quiet = make(chan struct{})
		}
		if found {
			s.mail.post(func(m *mail) { m.inbox = append(m.inbox, inboxPage{p, page.Entries, quiet}) })
		}
		if req.From = page.Next; req.From == "" {
			return quiet, fenced
		}
	}
}

// forward puts a report into the inbox of a partition that is no longer this process's, until it is safe there, or
// the store has stopped.
func (s *Scheduler) forward(p ax.Partition, r *ax.Report) {
	entry := ax.Entry{ID: "report-" + r.Token.String(), Verb: ax.VerbReport, Version: 1, Added: r.Ended, By: s.leases.executor, Report: r}
	s.group.Go(func() {
		for pause := retryPause; ; pause = min(2*pause, time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_, err := s.cfg.Store.Submit(ctx, p, []ax.Entry{entry})
			cancel()
			if err == nil || errors.Is(err, ax.ErrClosed) || !s.pause(pause) {
				return
			}
		}
	})
}
