package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/axsched/ax"
)

// The kinds of tasks.
const (
	kindClose    = "order.close"
	kindActivate = "coupon.activate"
	kindPush     = "message.push"
)

// kinds says how long the service takes for each kind, and what its arguments are.
var kinds = map[string]struct {
	takes time.Duration
	args  func() any // a new value to decode a payload into
}{
	kindClose:    {50 * time.Millisecond, func() any { return new(CloseOrder) }},
	kindActivate: {200 * time.Millisecond, func() any { return new(ActivateCoupon) }},
	kindPush:     {800 * time.Millisecond, func() any { return new(PushMessage) }},
}

// CloseOrder closes an order that was not paid in time.
type CloseOrder struct {
	Order  string `json:"order"`
	Reason string `json:"reason,omitzero"`
}

// ActivateCoupon lets a customer use a coupon from now on.
type ActivateCoupon struct {
	Coupon   string `json:"coupon"`
	Customer string `json:"customer,omitzero"`
}

// PushMessage sends a message to a customer's phone.
type PushMessage struct {
	Customer string `json:"customer"`
	Text     string `json:"text,omitzero"`
}

// shop holds the handlers and what they need: the service behind them.
type shop struct {
	transport *http.Transport // itself: there are no redirects or cookies for an http.Client to follow
	base      url.URL         // of the service
}

// newShop returns a shop that calls the service at addr, from at most so many handlers at once.
func newShop(addr string, workers int) *shop {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return &shop{
		base: url.URL{Scheme: "http", Host: addr},
		transport: &http.Transport{
			DialContext: dialer.DialContext,
			// Each handler in flight holds a connection. The default keeps two idle ones per host and would dial
			// anew for nearly every call.
			MaxIdleConnsPerHost: workers,
			MaxConnsPerHost:     workers,
			DisableCompression:  true,
			ReadBufferSize:      1 << 10, // the answers are tiny, and there are thousands of connections
			WriteBufferSize:     1 << 10,
		},
	}
}

// mux registers the handlers.
func (s *shop) mux() *ax.Mux {
	mux := ax.NewMux()
	ax.Handle(mux, kindClose, s.closeOrder)
	ax.Handle(mux, kindActivate, s.activateCoupon)
	ax.Handle(mux, kindPush, s.pushMessage)
	return mux
}

func (s *shop) closeOrder(ctx context.Context, in CloseOrder) error { return s.call(ctx, in) }

func (s *shop) activateCoupon(ctx context.Context, in ActivateCoupon) error { return s.call(ctx, in) }

func (s *shop) pushMessage(ctx context.Context, in PushMessage) error { return s.call(ctx, in) }

// The headers that tell the service which task asks, for which time, and on which attempt.
const (
	headerTask    = "Ax-Task"
	headerDue     = "Ax-Due" // in microseconds since 1970
	headerAttempt = "Ax-Attempt"
	headerToken   = "Ax-Token" // grows with each attempt: a service can refuse an old one
)

// call asks the service to do the work of the attempt that ctx belongs to, and waits for its answer. The context ends
// at the task's timeout and at a shutdown, and the request with it.
func (s *shop) call(ctx context.Context, in any) error {
	info, ok := ax.InfoFrom(ctx)
	if !ok {
		return ax.NoRetry(fmt.Errorf("not in a handler"))
	}
	body, err := json.Marshal(in)
	if err != nil {
		return ax.NoRetry(err)
	}
	target := s.base
	target.Path = "/" + info.Kind
	req := (&http.Request{
		Method:        http.MethodPost,
		URL:           &target,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Header: http.Header{
			"Content-Type": {"application/json"},
			headerTask:     {info.ID},
			headerDue:      {strconv.FormatInt(info.Due.UnixMicro(), 10)},
			headerAttempt:  {strconv.Itoa(int(info.Attempt))},
			headerToken:    {ax.TokenFrom(ctx).String()},
		},
	}).WithContext(ctx)
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 300:
		return nil
	case resp.StatusCode < 500:
		return ax.NoRetry(fmt.Errorf("the service refused: %s", resp.Status)) // asking again would not help
	}
	return fmt.Errorf("the service failed: %s", resp.Status)
}

// warm opens so many connections, as many as a service that has been up for a while has: else the tasks of the first
// second wait for them.
func (s *shop) warm(connections int) error {
	ctx, cancel := context.WithTimeout(context.Background(), warmLimit)
	defer cancel()
	target := s.base
	target.Path = warmPath
	var calls sync.WaitGroup
	failed := make(chan error, connections)
	for range connections {
		calls.Go(func() {
			resp, err := s.transport.RoundTrip((&http.Request{Method: http.MethodGet, URL: &target, Header: http.Header{}}).WithContext(ctx))
			if err == nil {
				err = resp.Body.Close()
			}
			if err != nil {
				failed <- err
			}
		})
	}
	calls.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("connecting to the service: %w", err)
	default:
		return nil
	}
}

// close lets the idle connections go.
func (s *shop) close() { s.transport.CloseIdleConnections() }
