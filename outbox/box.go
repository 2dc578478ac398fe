package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/axsched/ax"
)

// Config says where the rows are, and how they are relayed.
type Config struct {
	Dialect Dialect // of the database; must be set
	Table   string  // its name, with a schema if need be; empty: ax_outbox

	// MaxPayload bounds a payload in bytes, as sched.Config.MaxPayload does, which must not be smaller; 0 means
	// ax.MaxPayload.
	MaxPayload int

	Every   time.Duration // how often Relay looks without being nudged, more or less by half; 0 means 1 s
	TakeFor time.Duration // for how long a relay has a row to itself; 0 means 30 s. A relay that dies holds its rows up for so long
	Batch   int           // rows per call of the scheduler; 0 means 200, at most 1000
}

// Box writes submissions as rows, and relays them. Make it with New.
type Box struct {
	cfg   Config        // immutable
	sql   statements    // immutable
	nudge chan struct{} // holds one: nudges coalesce
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,49}$`) // with room for the name of an index

// New checks the configuration. It does not reach for the database. Errors: ErrInvalid, naming the field.
func New(cfg Config) (*Box, error) {
	bad := func(field string, value any, reason string) (*Box, error) {
		return nil, &ax.Error{Op: "configure", Field: field, Value: fmt.Sprintf("%.80q", fmt.Sprint(value)), Reason: reason, Err: ax.ErrInvalid}
	}
	if cfg.Table == "" {
		cfg.Table = "ax_outbox"
	}
	if cfg.MaxPayload == 0 {
		cfg.MaxPayload = ax.MaxPayload
	}
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	if cfg.TakeFor == 0 {
		cfg.TakeFor = 30 * time.Second
	}
	if cfg.Batch == 0 {
		cfg.Batch = 200
	}
	switch {
	case cfg.Dialect < SQLite || cfg.Dialect > MySQL:
		return bad("Dialect", cfg.Dialect, "SQLite, Postgres or MySQL")
	case !tableName.MatchString(cfg.Table):
		return bad("Table", cfg.Table, "up to 50 letters, digits and _, with a schema and a dot before it if need be")
	case cfg.MaxPayload < 1 || cfg.MaxPayload > 8<<20:
		return bad("MaxPayload", cfg.MaxPayload, "from 1 byte to 8 MiB")
	case cfg.Every < time.Millisecond || cfg.Every > time.Hour:
		return bad("Every", cfg.Every, "from 1ms to 1h")
	case cfg.TakeFor < time.Second || cfg.TakeFor > time.Hour:
		return bad("TakeFor", cfg.TakeFor, "from 1s to 1h")
	case cfg.Batch < 1 || cfg.Batch > 1000:
		return bad("Batch", cfg.Batch, "from 1 to 1000")
	}
	b := &Box{cfg: cfg, nudge: make(chan struct{}, 1)}
	b.sql = b.statements()
	return b, nil
}

// body is a submission as a row keeps it, in its version 1.
type body struct {
	Version        int
	Kind           string
	Payload        []byte            `json:",omitempty"`
	At             time.Time         `json:",omitzero"`  // when it is due, by the wall clock
	Relative       bool              `json:",omitempty"` // At is a delay that began with the row
	Priority       ax.Priority       `json:",omitempty"`
	Timeout        time.Duration     `json:",omitempty"`
	MaxRetries     int               `json:",omitempty"`
	Backoff        ax.Backoff        `json:",omitzero"`
	RetryOnTimeout bool              `json:",omitempty"`
	HoldLost       bool              `json:",omitempty"`
	Ordered        bool              `json:",omitempty"`
	Unique         ax.Unique         `json:",omitzero"`
	Headers        map[string]string `json:",omitempty"`
}

// Submit checks a submission and writes it in tx, the caller's own; it returns the id of the task, made now if sub has
// none. It is relayed once tx is committed; call Nudge then. Errors: ErrInvalid, naming the field, as sched's Submit;
// those of the database.
func (b *Box) Submit(ctx context.Context, tx *sql.Tx, sub ax.Submission) (id string, err error) {
	now := time.Now()
	t, err := sub.Task(now, b.cfg.MaxPayload)
	if err != nil {
		return "", err
	}
	row := body{Version: 1, Kind: t.Kind, Payload: t.Payload, At: sub.At, Priority: sub.Priority, Timeout: sub.Timeout, MaxRetries: sub.MaxRetries,
		Backoff: sub.Backoff, RetryOnTimeout: sub.RetryOnTimeout, HoldLost: sub.HoldLost, Ordered: sub.Ordered, Unique: sub.Unique, Headers: sub.Headers}
	if sub.At.IsZero() {
		row.At, row.Relative = now.Add(max(sub.In, 0)), true
	}
	text, err := json.Marshal(row)
	if err != nil {
		return "", fmt.Errorf("ax: outbox %s: %w", t.ID, err)
	}
	made := now.UnixMicro() // due too: in line behind what waits already
	if _, err := tx.ExecContext(ctx, b.sql.insert, t.ID, text, made, made); err != nil {
		return "", fmt.Errorf("ax: outbox %s: %w", t.ID, err)
	}
	return t.ID, nil
}

// Nudge makes a Relay of this process look at once. Call it after the commit. It does not wait.
func (b *Box) Nudge() {
	select {
	case b.nudge <- struct{}{}:
	default: // it will look anyway
	}
}

// submission turns a row into what is submitted. tried is when it was tried first, if that is not known to have failed.
func submission(id string, text []byte, tried int64, now time.Time) (ax.Submission, error) {
	var row body
	if err := json.Unmarshal(text, &row); err != nil {
		return ax.Submission{}, fmt.Errorf("the row is no submission: %w", err)
	}
	if row.Version != 1 {
		return ax.Submission{}, fmt.Errorf("the row is of version %d, written by a newer program", row.Version)
	}
	sub := ax.Submission{ID: id, Kind: row.Kind, Payload: row.Payload, At: row.At, Priority: row.Priority, Timeout: row.Timeout, MaxRetries: row.MaxRetries,
		Backoff: row.Backoff, RetryOnTimeout: row.RetryOnTimeout, HoldLost: row.HoldLost, Ordered: row.Ordered, Unique: row.Unique, Headers: row.Headers}
	if row.Relative {
		sub.In, sub.At = max(row.At.Sub(now), 0), time.Time{}
	}
	if tried != 0 { // a first try made no task before it: only the tries count
		sub.Made = time.UnixMicro(tried)
	}
	return sub, nil
}
